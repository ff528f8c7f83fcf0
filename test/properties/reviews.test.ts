import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, inject, it, vi } from 'vitest'
import type { Env } from '../../src/env.ts'
import { wrapBindings } from '../support/bindings.ts'
import { timeAfter } from '../support/builders.ts'
import { isSharded } from '../support/database.ts'
import { type ApiResponse, type Client, client, newOrg } from '../support/org.ts'
import { newReviewed, reviewerOf } from '../support/reviews.ts'
import { receive, recordedEvents, subscribe } from '../support/webhooks.ts'
import { appendEpoch, endRuns, onRealClock, startClock } from './service.ts'

const THOROUGHNESS = inject('propertyRuns')

/*
 * Reviewers decide on the same spans at the same time, while outputs arrive. No matter how their D1 calls interleave,
 * the history contains each acknowledged decision by a person exactly once and in a single order, each decision starts
 * from the state that the previous one left, and replaying the history ends in the state that all endpoints return.
 * Webhooks get one event for each decision, and none for a refused one.
 */

/** The last reviewer is an agent, whose decisions are only suggestions. */
const AGENT = 3

/** The two spans never get the same object, because they would then be reviewed together. */
const valueFor = ({ value, span }: Pick<Act, 'value' | 'span'>) => [null, 'Yes', 'No', { span, b: [2] }][value]

interface Act {
  kind: 'accept' | 'correct' | 'reset' | 'output'
  reviewer: number
  span: number
  value: number
  /** Whether the request requires the ETag that the span had before this round. */
  isGuarded: boolean
  isBulk: boolean
}

const act: fc.Arbitrary<Act> = fc.record({
  kind: fc.constantFrom('accept', 'correct', 'reset', 'output'),
  reviewer: fc.nat(AGENT),
  span: fc.nat(1),
  value: fc.nat(3),
  isGuarded: fc.boolean(),
  isBulk: fc.boolean(),
})

/** Rounds of concurrent acts, and the number of turns that each D1 call waits. */
const scenario = fc.record({
  rounds: fc.array(fc.array(act, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 3 }),
  delays: fc.array(fc.nat(3), { minLength: 1, maxLength: 12 }),
})

interface Result {
  act: Act
  status: number
  body: { approvedOutput?: unknown; review?: { state: string; by: string | null } }
}

interface Entry {
  id: string
  decision: 'accept' | 'correct' | 'reset'
  by: string
  before: unknown
  after: unknown
  comment: string | null
}

/** Bindings whose D1 calls each wait a few turns, so that requests overtake each other. */
function delayed(delays: readonly number[]): Env {
  let calls = 0
  return wrapBindings(async (binding, call) => {
    if (binding === 'DB') {
      for (let turns = delays[calls++ % delays.length] ?? 0; turns > 0; turns--) await scheduler.wait(0)
    }
    return call()
  })
}

/** How many epochs have begun. */
let epochs = 0

async function play({ rounds, delays }: { rounds: Act[][]; delays: number[] }) {
  if (isSharded) startClock()
  const org = await newOrg()
  await subscribe(org)
  const fixture = await newReviewed('Yes', org)
  if (isSharded) await appendEpoch(org.project.id, epochs++)
  // With several databases, the second span is in another trace, which may be in another database.
  const other = isSharded ? await newReviewed('Yes', org) : { ...fixture, spanId: crypto.randomUUID() }
  if (!isSharded) await fixture.step({ span_id: other.spanId, output: 'Yes' })
  const homes = [fixture, other]
  const spanIds = homes.map(({ spanId }) => spanId)
  const bindings = delayed(delays)
  const reviewers = await Promise.all(
    Array.from({ length: AGENT + 1 }, async (_, index) => {
      const { key, userId } = await reviewerOf(org)
      const own = index === AGENT ? await org.keyFor({ userId, scopes: ['review'], actsAs: 'agent' }) : key
      return { userId, client: client({ 'x-api-key': own }, bindings) }
    }),
  )
  const results: Result[] = []
  let clock = 1
  for (const round of rounds) {
    const tags = await Promise.all(spanIds.map(async id => (await org.read.get(`/api/spans/${id}`)).body.etag))
    await Promise.all(
      round.map(async act => {
        const spanId = spanIds[act.span] ?? ''
        if (act.kind === 'output') {
          const timestamp = timeAfter(clock++)
          await homes[act.span]?.observe({ span_id: spanId, data: valueFor(act), timestamp })
          return
        }
        const by = reviewers[act.reviewer]
        if (!by) throw new Error('reviewer not found')
        // A unique comment identifies each decision.
        const comment = crypto.randomUUID()
        const body = {
          decision: act.kind,
          comment,
          ...(act.kind === 'correct' && { approvedOutput: valueFor(act) ?? 'null' }),
        }
        const result = await send(by.client, spanId, body, act, tags[act.span])
        results.push({ act, ...result })
      }),
    )
    if (isSharded) await appendEpoch(org.project.id, epochs++)
  }
  return { org, traceIds: homes.map(({ id }) => id), spanIds, reviewers, results }
}

async function send(by: Client, spanId: string, body: object, { isGuarded, isBulk }: Act, tag: string) {
  if (isBulk) {
    const review = { spanId, ...body, ...(isGuarded && { ifMatch: tag }) }
    return (await by.post('/api/reviews', { reviews: [review] })).body.results[0]
  }
  const response = await by.put(`/api/spans/${spanId}/review`, body, isGuarded ? { 'if-match': tag } : {})
  return { status: response.status, body: response.body }
}

/** Replays a history, and returns the final approved output, state and reviewer. */
function replay(entries: readonly Entry[]): { approvedOutput: unknown; state: string; by: string | null } {
  let approvedOutput: unknown = null
  for (const { before, after, decision } of entries.toReversed()) {
    mustEqual('the output before a decision and the one after the previous decision', before, approvedOutput)
    if ((after === null) !== (decision === 'reset'))
      throw new Error(`the decision "${decision}" left ${JSON.stringify(after)}`)
    approvedOutput = after
  }
  const last = entries[0]
  const states = { accept: 'accepted', correct: 'corrected', reset: 'unreviewed' }
  const isReviewed = last !== undefined && last.decision !== 'reset'
  return { approvedOutput, state: last ? states[last.decision] : 'unreviewed', by: isReviewed ? last.by : null }
}

function mustEqual(what: string, found: unknown, expected: unknown): void {
  const [left, right] = [JSON.stringify(found), JSON.stringify(expected)]
  if (left !== right) throw new Error(`${what}: ${left}, expected ${right}`)
}

// If a job sends events, they never leave the tests.
beforeEach(() => void receive())
afterEach(async () => {
  await endRuns()
  vi.restoreAllMocks()
}, 120_000)

describe('reviews by several reviewers at the same time', () => {
  it('leave a history that replays to the current state, no matter how they interleave', {
    timeout: 120_000 * THOROUGHNESS,
  }, async () => {
    const property = fc.asyncProperty(scenario, drawn =>
      onRealClock(async () => {
        const { org, traceIds, spanIds, reviewers, results } = await play(drawn)
        const traces = new Map<string, ApiResponse['body']>()
        for (const id of new Set(traceIds)) traces.set(id, (await org.read.get(`/api/traces/${id}`)).body)
        const queue = (await org.read.get('/api/review-queue?projectSlug=support')).body
        const decisionIds: string[] = []
        const counts = new Map(traceIds.map(id => [id, { reviewed: 0, toReview: 0, isChanged: false }]))
        for (const [index, spanId] of spanIds.entries()) {
          const history: Entry[] = (await org.read.get(`/api/spans/${spanId}/reviews`)).body.reviews
          decisionIds.push(...history.map(({ id }) => id))
          const span = (await org.read.get(`/api/spans/${spanId}`)).body
          const { approvedOutput, state, by } = replay(history)
          mustEqual('the approved output', span.approvedOutput, approvedOutput)
          mustEqual('the review', [span.review.state, span.review.by], [state, by])
          const [trace, count] = [traces.get(traceIds[index] ?? ''), counts.get(traceIds[index] ?? '')]
          if (!count) throw new Error('trace not found')
          const shown = trace.spans.find(({ id }: { id: string }) => id === spanId)
          mustEqual('the span in its trace', shown.review, span.review)
          const ofSpan = results.filter(({ act }) => act.span === index)
          const done = ofSpan.filter(({ status, act }) => status === 200 && act.reviewer !== AGENT)
          const agents = span.suggestions.map(({ by }: { by: string }) => by)
          const isAgents = agents.length === 0 || (agents.length === 1 && agents[0] === reviewers[AGENT]?.userId)
          mustEqual('whether all suggestions come from the agent', isAgents, true)
          mustEqual('the number of successful responses and of decisions', history.length, done.length)
          for (const { status, act } of ofSpan) {
            const allowed = [200, ...(act.isGuarded ? [412] : []), ...(act.kind === 'accept' ? [422] : [])]
            if (!allowed.includes(status)) throw new Error(`${act.kind} returned ${status}`)
          }
          const userIds = done.map(({ act }) => reviewers[act.reviewer]?.userId ?? '')
          mustEqual('who decided', history.map(entry => entry.by).toSorted(), userIds.toSorted())
          const isQueued = queue.spans.some(({ id }: { id: string }) => id === spanId)
          const isCurrent = state !== 'unreviewed' && !span.review.stale
          if (isCurrent && state === 'accepted') mustEqual('an accepted output', span.output, span.approvedOutput)
          mustEqual('whether the span is in the queue', isQueued, !isCurrent && span.output !== null)
          if (isCurrent) count.reviewed++
          else if (span.output !== null) count.toReview++
          if (isCurrent && state === 'corrected') count.isChanged = true
        }
        const events = (await recordedEvents(org)).filter(({ type }) => type === 'span.reviewed')
        mustEqual('the events', events.map(event => event.subject_id).toSorted(), decisionIds.toSorted())
        const states: string[] = []
        for (const [id, { reviewed, toReview, isChanged }] of counts) {
          const whole = isChanged ? 'corrected' : 'accepted'
          const state = reviewed === 0 ? 'unreviewed' : toReview > 0 ? 'mixed' : whole
          const { reviewedCount, reviewState } = traces.get(id)
          mustEqual('the trace', [reviewedCount, reviewState], [reviewed, state])
          states.push(state)
        }
        const toReview = [...counts.values()].reduce((sum, count) => sum + count.toReview, 0)
        mustEqual('the remaining count', queue.remaining, toReview)
        for (const state of new Set(states)) {
          const listed = (await org.read.get(`/api/traces?projectSlug=support&review=${state}`)).body.traces
          mustEqual('the list', listed.length, states.filter(each => each === state).length)
        }
      }),
    )
    await fc.assert(property, { numRuns: 60 * THOROUGHNESS, interruptAfterTimeLimit: 100_000 * THOROUGHNESS })
  })

  it('let only one succeed if all require the same ETag', { timeout: 60_000 * THOROUGHNESS }, async () => {
    const guarded = fc.record({
      decisions: fc.array(fc.constantFrom('accept', 'correct', 'reset'), { minLength: 2, maxLength: 6 }),
      delays: fc.array(fc.nat(3), { minLength: 1, maxLength: 12 }),
    })
    const property = fc.asyncProperty(guarded, async ({ decisions, delays }) => {
      const fixture = await newReviewed('Yes')
      const { etag } = (await fixture.read()).span
      const { key } = await reviewerOf(fixture.org)
      const by = client({ 'x-api-key': key }, delayed(delays))
      const responses = await Promise.all(
        decisions.map((decision, index) =>
          fixture.review(
            { decision, comment: String(index), ...(decision === 'correct' && { approvedOutput: index }) },
            { 'if-match': etag },
            by,
          ),
        ),
      )
      mustEqual('the number of successful requests', responses.filter(({ status }) => status === 200).length, 1)
      mustEqual('the history', (await fixture.history()).length, 1)
    })
    await fc.assert(property, { numRuns: 20 * THOROUGHNESS, interruptAfterTimeLimit: 50_000 * THOROUGHNESS })
  })
})
