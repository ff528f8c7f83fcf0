import { env } from 'cloudflare:workers'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, inject, it, vi } from 'vitest'
import { datasetUuid } from '../../src/domain/ids.ts'
import { inShard } from '../../src/env.ts'
import { runJob } from '../../src/jobs/consumer.ts'
import { wrapBindings } from '../support/bindings.ts'
import { timeAfter } from '../support/builders.ts'
import { databases, isSharded, placeOf, stored } from '../support/database.ts'
import { client, newOrg } from '../support/org.ts'
import { newReviewed } from '../support/reviews.ts'
import { adjudicatorOf, newVoted, setPolicy } from '../support/voting.ts'
import { receive, recordedEvents, subscribe } from '../support/webhooks.ts'
import { appendEpoch, endRuns, onRealClock, startClock } from './service.ts'

const THOROUGHNESS = inject('propertyRuns')

/*
 * Several reviewers and an adjudicator decide on the same spans at the same time, while outputs arrive, the policy
 * changes, and D1 calls fail before, while, or after they take effect. In every case, the votes explain each decision.
 * The span's response, its dataset, the counts, the feedback, and the webhook events all reflect each decision exactly
 * once.
 */

/** The last reviewer is an adjudicator. */
const ADJUDICATOR = 3

const STEPS = ['first', 'second']

/** An evaluator considers the first two corrections equal, although their JSON differs. */
const VALUES = [{ a: 'No' }, { a: 'NO ' }, { a: 'Perhaps' }]

const act = fc.record({
  kind: fc.constantFrom('accept', 'accept', 'correct', 'correct', 'reset', 'output', 'policy', 'claim'),
  reviewer: fc.nat(ADJUDICATOR),
  span: fc.nat(1),
  value: fc.nat(2),
  isBulk: fc.boolean(),
  takeOver: fc.boolean(),
  reviewers: fc.integer({ min: 1, max: 3 }),
})
type Act = typeof act extends fc.Arbitrary<infer Value> ? Value : never

/**
 * What happens to a call: D1 fails before it runs the call, D1 fails after it has run all statements of a batch but
 * before it commits them, or the reply gets lost.
 */
const MOMENTS = ['before', 'midway', 'after'] as const
const database = fc.nat(databases.length - 1)
const fault = fc.record({ at: fc.nat(11), moment: fc.constantFrom(...MOMENTS), database })

/** The database that fails throughout a round, if any. */
const outages = isSharded ? fc.array(fc.option(database, { freq: 2 }), { maxLength: 6 }) : fc.constant([])

/** Rounds of concurrent acts, the turns that each D1 call waits, and the calls and databases that fail. */
const scenario = fc.record({
  reviewers: fc.integer({ min: 1, max: 3 }),
  rounds: fc.array(fc.array(act, { minLength: 1, maxLength: 4 }), { minLength: 2, maxLength: 6 }),
  delays: fc.array(fc.nat(3), { minLength: 1, maxLength: 12 }),
  faults: fc.array(fault, { maxLength: 4 }),
  outages,
})
/** Rounds in which everybody decides on one span at the same time. */
const races = fc.record({
  reviewers: fc.integer({ min: 2, max: 3 }),
  rounds: fc.array(
    fc.uniqueArray(
      fc.record({
        kind: fc.constantFrom('accept', 'accept', 'correct', 'reset'),
        reviewer: fc.nat(ADJUDICATOR),
        span: fc.constant(0),
        value: fc.constant(1),
        isBulk: fc.constant(false),
        takeOver: fc.constant(false),
        reviewers: fc.constant(2),
      }),
      { minLength: 3, maxLength: 4, selector: ({ reviewer }) => reviewer },
    ),
    { minLength: 2, maxLength: 3 },
  ),
  delays: fc.array(fc.nat(2), { minLength: 1, maxLength: 5 }),
  faults: fc.array(fault, { maxLength: 1 }),
  outages,
})

type Scenario = typeof scenario extends fc.Arbitrary<infer Value> ? Value : never

/** Bindings whose D1 calls each wait a few turns, and whose D1 and queue calls sometimes fail. */
function unsteady({ delays, faults }: Pick<Scenario, 'delays' | 'faults'>, weather: { outage: number | null }) {
  let calls = 0
  const callsOf = new Map<number | undefined, number>()
  return wrapBindings(async (binding, call, breakOff, number) => {
    if (binding !== 'DB' && binding !== 'JOBS') return call()
    for (let turns = delays[calls++ % delays.length] ?? 0; turns > 0; turns--) await scheduler.wait(0)
    const index = callsOf.get(number) ?? 0
    callsOf.set(number, index + 1)
    const isDown = number !== undefined && number === weather.outage
    const isHit = ({ at, database }: (typeof faults)[number]) => at === index % 12 && database === (number ?? database)
    const moment = isDown ? 'before' : faults.find(isHit)?.moment
    if (moment === undefined) return call()
    if (moment === 'midway') await breakOff?.().catch(() => {})
    if (moment === 'after') await call()
    throw new Error(isDown ? 'D1_ERROR: D1 DB is overloaded.' : 'D1_ERROR: Network connection lost.')
  })
}

/** How many epochs have begun. */
let epochs = 0

async function play({ reviewers, rounds, outages, ...unsteadiness }: Scenario) {
  if (isSharded) startClock()
  const tenant = await newOrg()
  await subscribe(tenant)
  const fixture = await newVoted('Root', { reviewers }, tenant)
  const { org } = fixture
  if (isSharded) await appendEpoch(org.project.id, epochs++)
  // With several databases, the second span may be in another database.
  const homes = [fixture, isSharded ? await newReviewed('Root', org) : fixture]
  const spanIds = [crypto.randomUUID(), crypto.randomUUID()]
  for (const [index, home] of homes.entries()) {
    await home.step({ span_id: spanIds[index], step_id: STEPS[index], output: { a: index } })
  }
  const places = await Promise.all(homes.map(async ({ id }) => (await placeOfTrace(id)).shard))
  const weather: { outage: number | null } = { outage: null }
  const bindings = unsteady(unsteadiness, weather)
  const people = [fixture.ada, fixture.ben, fixture.cleo, await adjudicatorOf(org)]
  const clients = people.map(({ key }) => client({ 'x-api-key': key }, bindings))
  let clock = 1
  const perform = async ({ kind, reviewer, span, value, isBulk, takeOver, reviewers }: Act): Promise<unknown> => {
    const [by, spanId, home] = [clients[reviewer], spanIds[span] ?? '', homes[span]]
    if (!by || !home) throw new Error('reviewer not found')
    if (kind === 'policy') return setPolicy(org, { reviewers })
    if (kind === 'output') return home.observe({ span_id: spanId, data: { a: clock }, timestamp: timeAfter(clock++) })
    if (kind === 'claim') return by.post('/api/review-queue/claim', { spanIds: [spanId] })
    const body = {
      decision: kind,
      takeOver,
      ...(value > 0 && { comment: crypto.randomUUID() }),
      ...(kind === 'correct' && { approvedOutput: VALUES[value] }),
    }
    const sent = isBulk
      ? await by.post('/api/reviews', { reviews: [{ spanId, ...body }] })
      : await by.put(`/api/spans/${spanId}/review`, body)
    const response = isBulk ? (sent.body.results?.[0] ?? sent) : sent
    // A 503 means that too many calls failed. A database that fails as a whole affects only its own spans.
    const mayFail = unsteadiness.faults.length > 0 || [0, places[span]].includes(weather.outage ?? undefined)
    if (![200, 409, ...(mayFail ? [503] : [])].includes(response.status))
      throw new Error(`${kind} returned ${response.status}`)
    return response
  }
  for (const [index, round] of rounds.entries()) {
    weather.outage = outages[index] ?? null
    await Promise.all(round.map(perform))
    weather.outage = null
    if (isSharded) await appendEpoch(org.project.id, epochs++)
  }
  return { ...fixture, traceIds: [...new Set(homes.map(({ id }) => id))], spanIds, people }
}

interface VoteRow {
  span_id: string
  round: number
  output_revision: string
  user_id: string
  id: string
  decision: 'accept' | 'correct' | 'reset'
  approved: string | null
  comment: string | null
  created_at: number
  reviewers: number
}

interface ReviewRow {
  id: string
  span_id: string
  number: number
  state: 'accepted' | 'corrected' | null
  output_revision: string
  user_id: string
  created_at: number
  approved: string | null
  comment: string | null
  basis: 'votes' | 'adjudication' | null
}

const rowsOf = async <Row>(sql: string, ...values: unknown[]): Promise<Row[]> =>
  (
    await stored
      .prepare(sql)
      .bind(...values)
      .all<Row>()
  ).results

function mustEqual(what: string, found: unknown, expected: unknown): void {
  const [left, right] = [JSON.stringify(found), JSON.stringify(expected)]
  if (left !== right) throw new Error(`${what}: ${left}, expected ${right}`)
}

/** Whether votes agree, according to the default evaluator. */
function doAgree(votes: readonly VoteRow[]): boolean {
  const said = ({ decision, approved }: VoteRow) =>
    decision === 'accept'
      ? 'accept'
      : JSON.parse(approved ?? 'null')
          .a.trim()
          .toLowerCase()
  return new Set(votes.map(said)).size <= 1
}

const byTime = (left: VoteRow, right: VoteRow) => left.created_at - right.created_at || (left.id < right.id ? -1 : 1)

async function check({ org, spanIds, people, traceIds }: Awaited<ReturnType<typeof play>>) {
  const ids = JSON.stringify(spanIds)
  const ofSpans = 'where span_id in (select value from json_each(?))'
  const [votes, reviews, [counts]] = await Promise.all([
    rowsOf<VoteRow>(`select * from votes ${ofSpans}`, ids),
    rowsOf<ReviewRow>(`select * from reviews ${ofSpans} order by number`, ids),
    rowsOf<{ decided: number; by_votes: number }>(
      `select coalesce(sum(accepted + corrected), 0) as decided, coalesce(sum(by_votes), 0) as by_votes
      from review_days where project_key = (select key from projects where id = ?)`,
      org.project.id,
    ),
  ])
  const adjudicator = people[ADJUDICATOR]
  if (!adjudicator) throw new Error('adjudicator not found')
  const queue = (await adjudicator.client.get('/api/review-queue?projectSlug=support&disputed=true')).body
  const disputedIds = queue.spans.map(({ id }: { id: string }) => id)
  const inForce: ReviewRow[] = []
  const comments: string[] = []
  for (const [index, spanId] of spanIds.entries()) {
    const span = (await org.read.get(`/api/spans/${spanId}`)).body
    const ofSpan = votes.filter(({ span_id }) => span_id === spanId)
    const rounds = Map.groupBy(ofSpan, ({ round, output_revision }) => `${round}/${output_revision}`)
    for (const [, all] of rounds) {
      const cast = all.filter(({ decision }) => decision !== 'reset')
      const isByAdjudicator = all.some(({ user_id }) => user_id === adjudicator.userId)
      mustEqual('whether an adjudicator voted', isByAdjudicator, false)
      mustEqual('the reviewers of a round', new Set(cast.map(({ reviewers }) => reviewers)).size <= 1, true)
      mustEqual('whether there are too many votes', cast.length <= (cast[0]?.reviewers ?? 5), true)
    }
    const history = reviews.filter(({ span_id }) => span_id === spanId)
    mustEqual(
      'the numbers',
      history.map(({ number }) => number),
      history.map((_, place) => place + 1),
    )
    for (const review of history) {
      const all = ofSpan.filter(
        ({ round, output_revision }) => round === review.number - 1 && output_revision === review.output_revision,
      )
      const cast = all.filter(({ decision }) => decision !== 'reset').toSorted(byTime)
      const [first] = cast
      if (review.basis === 'votes') {
        mustEqual('the number of votes', cast.length, first?.reviewers)
        mustEqual('whether the votes agree', doAgree(cast), true)
        mustEqual('who decided', review.user_id, first?.user_id)
        mustEqual('when', review.created_at, cast.at(-1)?.created_at)
        const value = first?.decision === 'accept' ? review.approved : first?.approved
        mustEqual('the approved output', review.approved, value)
      } else {
        if (review.comment !== null) comments.push(review.comment)
        const isAdjudication = cast.length > 0 && review.state !== null && review.user_id === adjudicator.userId
        mustEqual('the basis', review.basis, isAdjudication ? 'adjudication' : null)
        mustEqual(
          'whether others decided despite votes',
          cast.length > 0 && review.user_id !== adjudicator.userId,
          false,
        )
      }
      if (review.state !== null) comments.push(...all.flatMap(({ comment }) => comment ?? []))
    }
    const last = history.at(-1)
    if (last?.state) inForce.push(last)
    mustEqual(
      'the review',
      [span.review.by, span.review.basis],
      last?.state ? [last.user_id, last.basis] : [null, null],
    )
    const isDecided = last?.state && !span.review.stale
    const [round, revision] = isDecided
      ? [last.number - 1, last.output_revision]
      : [last?.number ?? 0, span.etag.slice(1, -1).split('.')[0]]
    const current = (rounds.get(`${round}/${revision}`) ?? []).filter(({ decision }) => decision !== 'reset')
    mustEqual(
      'the votes shown',
      span.votes.map(({ by }: { by: string }) => by),
      current.toSorted(byTime).map(({ user_id }) => user_id),
    )
    const isFull = !isDecided && current.length > 0 && current.length === current[0]?.reviewers
    mustEqual('whether the votes so far disagree', isFull && doAgree(current), false)
    mustEqual('whether it is disputed', [span.isDisputed, disputedIds.includes(spanId)], [isFull, isFull])
    for (const table of isDecided ? ['disputes', 'review_claims'] : []) {
      mustEqual(
        `the rows of ${table} after a decision`,
        (await rowsOf(`select 1 from ${table} where span_id = ?`, spanId)).length,
        0,
      )
    }
    const [{ voted } = { voted: -1 }] = await rowsOf<{ voted: number }>(
      'select vote_number as voted from spans where id = ?',
      spanId,
    )
    const audited = await rowsOf("select 1 from audit_log where target_id = ? and action = 'review.vote'", spanId)
    mustEqual('the votes in the audit log', audited.length, voted)
    const dataset = await datasetUuid(org.project.id, STEPS[index] ?? '')
    const items = (await org.read.get(`/api/datasets/${dataset}/items`)).body.items ?? []
    mustEqual(
      'the items',
      items.map(({ id }: { id: string }) => id),
      last?.state ? [spanId] : [],
    )
    const entries = await rowsOf(
      "select 1 from dataset_entries where item_id = ? and change = 'decision' group by review_id having count(*) > 1",
      spanId,
    )
    mustEqual('decisions with several entries', entries.length, 0)
  }
  const events = await recordedEvents(org)
  const subjects = (type: string) => events.filter(event => event.type === type).map(event => event.subject_id)
  mustEqual('the events of decisions', subjects('span.reviewed').toSorted(), reviews.map(({ id }) => id).toSorted())
  const disputes = await rowsOf<{ span_id: string; disputed_at: number }>(`select * from disputes ${ofSpans}`, ids)
  const reported = events
    .filter(({ type }) => type === 'span.disputed')
    .map(({ subject_id, at }) => `${subject_id} ${at}`)
  mustEqual('whether a dispute is reported twice', reported.length, new Set(reported).size)
  for (const { span_id, disputed_at } of disputes) {
    mustEqual('whether a dispute is reported', reported.includes(`${span_id} ${disputed_at}`), true)
  }
  mustEqual('the counted decisions', counts?.decided, inForce.length)
  mustEqual('the counted decisions by votes', counts?.by_votes, inForce.filter(({ basis }) => basis === 'votes').length)
  const today = new Map<string, number>()
  const worked = [
    ...inForce.filter(({ basis }) => basis !== 'votes'),
    ...votes.filter(({ decision }) => decision !== 'reset'),
  ]
  for (const { user_id } of worked) today.set(user_id, (today.get(user_id) ?? 0) + 1)
  for (const { userId } of people) {
    const shown = queue.today.find((each: { userId: string }) => each.userId === userId)
    mustEqual("today's work", shown?.reviewed ?? 0, today.get(userId) ?? 0)
  }
  const traces = await Promise.all(traceIds.map(async id => (await org.read.get(`/api/traces/${id}`)).body))
  const feedback = traces.flatMap(trace => trace.feedback)
  mustEqual('the comments', feedback.map(({ content }: { content: string }) => content).toSorted(), comments.toSorted())
}

/** Deletes the traces, and checks that nothing about their votes is left. */
async function purge({ org, traceIds }: Awaited<ReturnType<typeof play>>) {
  for (const id of traceIds) {
    const { shard, trace } = await placeOfTrace(id)
    await org.owner.delete(`/api/traces/${id}`)
    const subject = { organizationKey: trace.organization_key, traceKey: trace.key, ...inShard(shard) }
    await runJob({ kind: 'purge_trace', ...subject }, env)
    for (const table of ['votes', 'disputes', 'review_claims', 'reviews']) {
      const left = await rowsOf(`select 1 from ${table} where trace_key = ?`, trace.key)
      mustEqual(`the rows of ${table}`, left.length, 0)
    }
  }
  const left = await rowsOf(
    'select 1 from review_days where accepted + corrected + by_votes <> 0 and project_key = (select key from projects where id = ?)',
    org.project.id,
  )
  mustEqual('the remaining counts', left.length, 0)
}

/** A trace's row, and the number of its database. */
async function placeOfTrace(id: string) {
  const [trace] = await rowsOf<{ key: number; organization_key: number }>('select * from traces where id = ?', id)
  if (!trace) throw new Error('trace not found')
  const { shard } = await placeOf(trace.key)
  return { shard, trace }
}

// If a job sends events, they never leave the tests.
beforeEach(() => void receive())
afterEach(async () => {
  await endRuns()
  vi.restoreAllMocks()
}, 120_000)

describe('votes by several reviewers at the same time', () => {
  it('explain every decision, no matter how they interleave and which calls fail', {
    timeout: 120_000 * THOROUGHNESS,
  }, async () => {
    const property = fc.asyncProperty(scenario, drawn =>
      onRealClock(async () => {
        const played = await play(drawn)
        await check(played)
        await purge(played)
      }),
    )
    await fc.assert(property, { numRuns: 25 * THOROUGHNESS, interruptAfterTimeLimit: 100_000 * THOROUGHNESS })
  })

  it('explain every decision if everybody decides at the same time', { timeout: 120_000 * THOROUGHNESS }, async () => {
    const property = fc.asyncProperty(races, drawn => onRealClock(async () => check(await play(drawn))))
    await fc.assert(property, { numRuns: 20 * THOROUGHNESS, interruptAfterTimeLimit: 100_000 * THOROUGHNESS })
  })
})
