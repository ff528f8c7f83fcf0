import { env } from 'cloudflare:workers'
import * as fc from 'fast-check'
import { describe, inject, it } from 'vitest'
import { isSampled } from '../../src/domain/review-policy.ts'
import { DAY_MS } from '../../src/limits.ts'
import { Deadline } from '../../src/store/core/deadline.ts'
import { openUnscopedStore } from '../../src/store/core/store.ts'
import { continuePolicyPasses } from '../../src/store/reviews/policy-passes.ts'
import { QUEUE_ORDERS } from '../../src/store/reviews/queue-order.ts'
import { aFeedback, anObservation, aSpan, aTrace, timeAfter } from '../support/builders.ts'
import { type Client, newOrg, type Org } from '../support/org.ts'
import { addAnswer } from '../support/problems.ts'
import { reviewerOf } from '../support/reviews.ts'
import { adjudicatorOf } from '../support/voting.ts'

const THOROUGHNESS = inject('propertyRuns')

/*
 * No matter what happens to traces, the policy, and the names of steps, and no matter how far cron's passes have
 * progressed, the queue offers exactly the spans that need review and that the policy selects, based on what the policy
 * lets the viewer see. Everything else is the same as if there were no policy.
 */

const STEPS = ['answer', 'search', 'embed']

/** Who reads the queue: an author of comments, another reviewer, and someone from whom a blind policy hides nothing. */
const VIEWERS = ['author', 'other', 'adjudicator'] as const
type Viewer = (typeof VIEWERS)[number]

/** An event. `trace` and `span` select existing ones. */
const event = fc.record({
  kind: fc.constantFrom(
    'trace',
    'trace',
    'output',
    'error',
    'feedback',
    'withdraw',
    'comment',
    'comment',
    'answer',
    'accept',
    'reset',
    'policy',
    'policy',
    'rename',
    'pass',
    'pass',
    'pass',
  ),
  trace: fc.nat(20),
  span: fc.nat(2),
  flag: fc.boolean(),
  isBlind: fc.boolean(),
  viewer: fc.constantFrom(...VIEWERS),
  size: fc.integer({ min: 1, max: 7 }),
  order: fc.constantFrom(...QUEUE_ORDERS.filter(order => order !== 'due')),
  samples: fc.array(fc.constantFrom(undefined, 0, 0.1, 0.5, 1), { minLength: 4, maxLength: 4 }),
  always: fc.subarray(['negative', 'error', 'low_confidence'] as const),
})
type Event = typeof event extends fc.Arbitrary<infer Value> ? Value : never

interface ModelSpan {
  id: string
  stepId: string
  hasOutput: boolean
  hasFailed: boolean
  isReviewed: boolean
  /** The id of the author's negative comment. */
  commentId: string | null
}

interface ModelTrace {
  id: string
  trace_id: string
  spans: ModelSpan[]
  feedbackId: string | null
  answer: { confidence: number; spanId: string | null } | null
}

/** A project, with the expected state of its traces and its policy. */
class World {
  readonly #org: Org
  readonly #project: string
  readonly #traces: ModelTrace[] = []
  readonly #viewers: Readonly<Record<Viewer, Client>>
  #policy: Pick<Event, 'samples' | 'always' | 'isBlind'> | undefined
  #isRenamed = false
  #time = 0

  constructor(org: Org, viewers: Readonly<Record<Viewer, Client>>) {
    this.#org = org
    this.#viewers = viewers
    this.#project = `/api/projects/${org.project.id}`
  }

  static async create(): Promise<World> {
    const org = await newOrg()
    const [author, adjudicator] = [await reviewerOf(org), await adjudicatorOf(org)]
    return new World(org, { author: author.client, other: org.owner, adjudicator: adjudicator.client })
  }

  async happen(event: Event): Promise<void> {
    const { kind, flag } = event
    const trace = this.#traces[event.trace % this.#traces.length]
    const span = trace?.spans[event.span % trace.spans.length]
    if (kind === 'trace') return this.#addTrace(event)
    if (kind === 'policy') return this.#setPolicy(event)
    if (kind === 'pass') {
      const unscoped = openUnscopedStore(env, new Deadline(60_000))
      // By this time, the service considers the traces settled.
      return continuePolicyPasses(unscoped, { now: Date.now() + DAY_MS, steps: event.size, limit: event.size })
    }
    if (kind === 'rename') {
      this.#isRenamed = flag
      await this.#sent(this.#org.owner.put(`${this.#project}/step-names`, { names: flag ? { answer: 'reply' } : {} }))
    }
    if (!trace || !span) return
    const { trace_id } = trace
    if (kind === 'output') {
      const output = { trace_id, span_id: span.id, data: { at: this.#time++ }, timestamp: timeAfter(this.#time) }
      await this.#sent(this.#org.ingest.post('/api/v1/observations', anObservation(output)))
      // An output that differs from the reviewed one needs review again.
      Object.assign(span, { hasOutput: true, isReviewed: false })
    } else if (kind === 'error') {
      const { id: span_id, stepId: step_id } = span
      const failed = { trace_id, span_id, step_id, timestamp: timeAfter(0), status: flag ? 'error' : 'ok' }
      await this.#sent(this.#org.ingest.post('/api/v1/spans', failed))
      span.hasFailed = flag
    } else if (kind === 'feedback') {
      trace.feedbackId ??= crypto.randomUUID()
      const given = { trace_id, feedback_id: trace.feedbackId, rating: 'negative', ...(flag && { span_id: span.id }) }
      await this.#sent(this.#org.ingest.post('/api/v1/feedback', aFeedback(given)))
    } else if (kind === 'withdraw' && trace.feedbackId) {
      await this.#sent(this.#org.ingest.delete(`/api/v1/feedback/${trace.feedbackId}`))
      trace.feedbackId = null
    } else if (kind === 'comment') {
      const { author } = this.#viewers
      if (span.commentId) {
        await this.#sent(author.delete(`/api/feedback/${span.commentId}`))
        span.commentId = null
      } else {
        const comment = { content: 'Wrong', rating: 'negative' }
        span.commentId = (await this.#sent(author.post(`/api/spans/${span.id}/feedback`, comment))).id
      }
    } else if (kind === 'answer' && trace.feedbackId) {
      trace.answer = { confidence: event.size < 4 ? 0.4 : 0.9, spanId: flag ? span.id : null }
      await addAnswer(this.#org, trace.id, { errorType: 'reasoning_error', ...trace.answer })
    } else if ((kind === 'accept' && span.hasOutput) || kind === 'reset') {
      await this.#sent(this.#org.owner.put(`/api/spans/${span.id}/review`, { decision: kind }))
      span.isReviewed = kind === 'accept'
    }
  }

  async #addTrace({ samples, flag }: Event): Promise<void> {
    const trace = aTrace({ name: 'run', timestamp: timeAfter(1000 * this.#time++) })
    const { id } = await this.#sent(this.#org.ingest.post('/api/v1/traces', trace))
    const spans = STEPS.map((stepId, index): ModelSpan => {
      const hasOutput = samples[index] !== 0
      return { id: crypto.randomUUID(), stepId, hasOutput, hasFailed: flag, isReviewed: false, commentId: null }
    })
    for (const [index, { id: span_id, stepId: step_id, hasOutput, hasFailed }] of spans.entries()) {
      const { output, ...span } = aSpan({ trace_id: trace.trace_id, span_id, step_id, timestamp: timeAfter(index) })
      const status = hasFailed ? 'error' : 'ok'
      await this.#sent(this.#org.ingest.post('/api/v1/spans', { ...span, status, ...(hasOutput && { output }) }))
    }
    this.#traces.push({ id, trace_id: trace.trace_id, spans, feedbackId: null, answer: null })
  }

  async #setPolicy({ samples, always, isBlind, flag }: Event): Promise<void> {
    this.#policy = { samples, always, isBlind }
    const blind = { blind: isBlind }
    const [other, ...ofSteps] = samples
    const named = flag && this.#isRenamed ? ['reply', ...STEPS.slice(1)] : STEPS
    const steps = named.flatMap((stepId, index) =>
      ofSteps[index] === undefined ? [] : [[stepId, { sample: ofSteps[index], ...blind }]],
    )
    const policy = { default: { sample: other, ...blind }, steps: Object.fromEntries(steps), always }
    await this.#sent(this.#org.owner.put(`${this.#project}/review-policy`, policy))
  }

  async #sent(response: ReturnType<Org['owner']['get']>) {
    const { status, body } = await response
    if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`)
    return body
  }

  /** The spans that need review, or only those that the policy selects for a viewer. */
  waiting(which: 'all' | Viewer): string[] {
    return this.#traces.flatMap(trace =>
      trace.spans
        .filter(({ hasOutput, isReviewed }) => hasOutput && !isReviewed)
        .filter(span => which === 'all' || this.#isPicked(trace, span, which))
        .map(({ id }) => id),
    )
  }

  #isPicked(trace: ModelTrace, { id, stepId, hasFailed }: ModelSpan, viewer: Viewer): boolean {
    if (!this.#policy) return true
    const { feedbackId, answer, spans } = trace
    const { samples, always, isBlind } = this.#policy
    const isBound = isBlind && viewer !== 'adjudicator'
    const isSeen = ({ commentId, hasOutput, isReviewed }: ModelSpan) =>
      commentId !== null && (!isBound || viewer === 'author' || !hasOutput || isReviewed)
    const sample = samples[STEPS.indexOf(stepId) + 1] ?? samples[0] ?? 1
    // While the span waits for its review, a blind policy hides the answer.
    const isUnsure = !isBound && answer !== null && answer.confidence < 0.5 && (answer.spanId ?? id) === id
    const holds = { negative: feedbackId !== null || spans.some(isSeen), error: hasFailed, low_confidence: isUnsure }
    return isSampled(id, sample) || (sample > 0 && always.some(rule => holds[rule]))
  }

  reviewed(): string[] {
    return this.#traces.flatMap(({ spans }) => spans.filter(({ isReviewed }) => isReviewed).map(({ id }) => id))
  }

  /** Every span in a viewer's queue, and the reported number of remaining spans. */
  async queue(viewer: Viewer, query: string): Promise<{ ids: string[]; remaining: number }> {
    const ids: string[] = []
    for (let cursor = ''; ; ) {
      const page = await this.#sent(
        this.#viewers[viewer].get(`/api/review-queue?projectSlug=support&${query}${cursor}`),
      )
      ids.push(...page.spans.map(({ id }: { id: string }) => id))
      if (page.nextCursor === null) return { ids, remaining: page.remaining }
      cursor = `&cursor=${page.nextCursor}`
    }
  }

  async listed(query: string): Promise<string[]> {
    const { spans } = await this.#sent(this.#org.read.get(`/api/spans?projectSlug=support&limit=200&${query}`))
    return spans.map(({ id }: { id: string }) => id)
  }

  /** The review state of each trace, by its id. */
  async states(): Promise<object> {
    const { traces } = await this.#sent(this.#org.read.get('/api/traces?projectSlug=support&limit=200'))
    return Object.fromEntries(traces.map(({ id, reviewState }: Record<string, string>) => [id, reviewState]))
  }

  modelStates(): object {
    return Object.fromEntries(
      this.#traces.map(({ id, spans }) => {
        const reviewed = spans.filter(({ isReviewed }) => isReviewed)
        const isOpen = spans.some(({ hasOutput, isReviewed }) => hasOutput && !isReviewed)
        return [id, reviewed.length === 0 ? 'unreviewed' : isOpen ? 'mixed' : 'accepted']
      }),
    )
  }
}

describe('the queue under a policy', () => {
  it('always offers exactly the spans that need review and that the policy selects', { timeout: 300_000 }, async ({
    expect,
  }) => {
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 20, maxLength: 40 }), async events => {
        const world = await World.create()
        for (const event of events) {
          await world.happen(event)
          const { kind, order, size, viewer } = event
          // Check right after each event that may hide a span, and occasionally after other events.
          if (kind !== 'pass' && kind !== 'policy' && kind !== 'feedback' && size > 2) continue
          const { ids } = await world.queue(viewer, `order=${order}&limit=${size + 3}`)
          expect(ids.toSorted()).toEqual(world.waiting(viewer).toSorted())
          if (size > 2) continue
          expect((await world.queue(viewer, `order=${order}&limit=${size}&all=true`)).ids.toSorted()).toEqual(
            world.waiting('all').toSorted(),
          )
          expect((await world.queue(viewer, 'limit=200')).remaining).toBe(world.waiting(viewer).length)
          expect((await world.listed('review=reviewed')).toSorted()).toEqual(world.reviewed().toSorted())
          expect((await world.listed('review=waiting')).toSorted()).toEqual(world.waiting('all').toSorted())
          expect(await world.states()).toEqual(world.modelStates())
        }
      }),
      { numRuns: 6 * THOROUGHNESS, endOnFailure: true },
    )
  })
})
