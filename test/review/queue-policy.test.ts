import { env } from 'cloudflare:workers'
import { describe, it } from 'vitest'
import { isSampled } from '../../src/domain/review-policy.ts'
import { DAY_MS, POLICY_PASS_TRACES } from '../../src/limits.ts'
import { Deadline } from '../../src/store/core/deadline.ts'
import { openUnscopedStore } from '../../src/store/core/store.ts'
import { continuePolicyPasses } from '../../src/store/reviews/policy-passes.ts'
import { putAnswer } from '../support/attributions.ts'
import { rowsReadBy, wrapBindings } from '../support/bindings.ts'
import { aFeedback, aSpan, aTrace } from '../support/builders.ts'
import { isSharded } from '../support/database.ts'
import { newOrg, type Org } from '../support/org.ts'
import { reviewerOf } from '../support/reviews.ts'
import { adjudicatorOf } from '../support/voting.ts'

const QUEUE = '/api/review-queue?projectSlug=support&limit=200'

const setPolicy = async (org: Org, policy: object) => {
  const { status, body } = await org.owner.put(`/api/projects/${org.project.id}/review-policy`, policy)
  if (status !== 200) throw new Error(JSON.stringify(body))
}

/** Returns the ids of the spans in the queue. Throws if `remaining` differs from the number of spans. */
async function queued(org: Org, query = ''): Promise<string[]> {
  const { body } = await org.owner.get(`${QUEUE}${query}`)
  if (body.remaining !== body.spans.length) throw new Error(`${body.remaining} remain, not ${body.spans.length}`)
  return body.spans.map(({ id }: { id: string }) => id)
}

/** Adds a trace with a span for each step. Returns the spans' ids. */
async function addTrace(org: Org, stepIds: readonly string[], fields: object = {}) {
  const trace = aTrace({ name: 'run' })
  const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
  const spans = stepIds.map(step_id => aSpan({ trace_id: trace.trace_id, step_id, ...fields }))
  for (const span of spans) await org.ingest.post('/api/v1/spans', span)
  return { id: String(id), trace_id: trace.trace_id, spanIds: spans.map(({ span_id }) => span_id) }
}

/** Runs cron's passes to completion, at a time when all traces are considered settled. */
const leaveOut = () =>
  continuePolicyPasses(openUnscopedStore(env, new Deadline(60_000)), {
    now: Date.now() + DAY_MS,
    steps: 10,
    limit: POLICY_PASS_TRACES,
  })

describe('the queue under a policy', () => {
  it('offers the sampled spans, and the rest too if `all` is set', async ({ expect }) => {
    const org = await newOrg()
    const spanIds: string[] = []
    for (let index = 0; index < 20; index++) spanIds.push(...(await addTrace(org, ['answer', 'embed'])).spanIds)
    const answers = spanIds.filter((_, index) => index % 2 === 0)
    expect(new Set(await queued(org))).toEqual(new Set(spanIds))
    await setPolicy(org, { steps: { embed: { sample: 0 } } })
    expect(new Set(await queued(org))).toEqual(new Set(answers))
    await setPolicy(org, { default: { sample: 0.5 }, steps: { embed: { sample: 0 } } })
    expect(new Set(await queued(org))).toEqual(new Set(answers.filter(id => isSampled(id, 0.5))))
    expect(new Set(await queued(org, '&all=true'))).toEqual(new Set(spanIds))
    await setPolicy(org, {})
    expect(new Set(await queued(org))).toEqual(new Set(spanIds))
  })

  it('asks others to vote on a span outside the sample once somebody has voted on it', async ({ expect }) => {
    const org = await newOrg()
    const { spanIds } = await addTrace(org, ['answer'])
    await setPolicy(org, { default: { sample: 1e-9, reviewers: 2 } })
    await leaveOut()
    expect(await queued(org)).toEqual([])
    const [first, second] = [await reviewerOf(org), await reviewerOf(org)]
    const vote = (by: typeof first) => by.client.put(`/api/spans/${spanIds[0]}/review`, { decision: 'accept' })
    expect((await vote(first)).status).toBe(200)
    const { spans } = (await second.client.get(QUEUE)).body
    expect(spans).toMatchObject([{ id: spanIds[0] }])
    expect((await vote(second)).body.approvedOutput).toEqual({ answer: 'Yes' })
  })

  it('asks only adjudicators and assignees to vote on a span outside the sample if the policy is blind', async ({
    expect,
  }) => {
    const org = await newOrg()
    const { spanIds } = await addTrace(org, ['answer'])
    await setPolicy(org, { default: { sample: 1e-9, reviewers: 2, blind: true } })
    await leaveOut()
    const [first, second, judge] = [await reviewerOf(org), await reviewerOf(org), await adjudicatorOf(org)]
    await first.client.put(`/api/spans/${spanIds[0]}/review`, { decision: 'accept' })
    const queuedFor = async ({ client }: typeof first, query = '') => (await client.get(`${QUEUE}${query}`)).body
    expect(await queuedFor(second)).toMatchObject({ spans: [], remaining: 0 })
    expect(await queuedFor(second, '&all=true')).toMatchObject({ spans: [{ id: spanIds[0] }], remaining: 1 })
    expect(await queuedFor(judge)).toMatchObject({ spans: [{ id: spanIds[0] }], remaining: 1 })
    await org.owner.post('/api/review-queue/assign', { spanIds, userIds: [second.userId] })
    for (const query of ['&assignee=me', '&order=mine'])
      expect(await queuedFor(second, query)).toMatchObject({ spans: [{ id: spanIds[0] }], remaining: 1 })
  })

  it.for([false, true])(
    'adds an output that a reviewer calls wrong, even if its trace was left out; blind: %s',
    async (blind, { expect }) => {
      const org = await newOrg()
      const { spanIds, trace_id } = await addTrace(org, ['answer'])
      await setPolicy(org, { default: { sample: 1e-9, reviewers: 2, blind }, always: ['negative'] })
      await leaveOut()
      const [first, second, judge] = [await reviewerOf(org), await reviewerOf(org), await adjudicatorOf(org)]
      const count = async ({ client }: typeof first) => (await client.get(QUEUE)).body.remaining
      const counts = async () => [await count(first), await count(second), await count(judge)]
      expect(await counts()).toEqual([0, 0, 0])
      await first.client.post(`/api/spans/${spanIds[0]}/feedback`, { content: 'No', rating: 'negative' })
      expect(await counts()).toEqual(blind ? [1, 0, 1] : [1, 1, 1])
      await org.ingest.post('/api/v1/feedback', aFeedback({ trace_id, rating: 'negative' }))
      expect(await counts()).toEqual([1, 1, 1])
    },
  )

  it.for([false, true])(
    'adds an output that an engine is unsure about, unless a blind policy hides that; blind: %s',
    async (blind, { expect }) => {
      const org = await newOrg()
      const { id } = await addTrace(org, ['answer'])
      await setPolicy(org, { default: { sample: 1e-9, reviewers: 2, blind }, always: ['low_confidence'] })
      await putAnswer(id, { confidence: 0.4 })
      const [reviewer, judge] = [await reviewerOf(org), await adjudicatorOf(org)]
      const count = async ({ client }: typeof reviewer) => (await client.get(QUEUE)).body.remaining
      expect([await count(reviewer), await count(judge)]).toEqual([blind ? 0 : 1, 1])
    },
  )

  it.skipIf(isSharded)(
    'takes two round trips and reads almost no extra rows, no matter how much a policy leaves out',
    async ({ expect }) => {
      const org = await newOrg()
      const costs = async (query = '') => {
        let d1RoundTrips = 0
        const counting = wrapBindings((binding, call) => {
          if (binding === 'DB') d1RoundTrips++
          return call()
        })
        await org.clientOf(org.ownerKey, counting).get(`${QUEUE}${query}`)
        const rows = await rowsReadBy(bindings => org.clientOf(org.ownerKey, bindings).get(`${QUEUE}${query}`))
        return { d1RoundTrips, rows }
      }
      const picked = await addTrace(org, ['answer'])
      for (let index = 0; index < 150; index++) await addTrace(org, ['embed'])
      await setPolicy(org, { steps: { embed: { sample: 0 } } })
      const before = await costs()
      await leaveOut()
      expect(await queued(org)).toEqual(picked.spanIds)
      const after = await costs()
      expect(after.d1RoundTrips).toBe(2)
      expect(after.rows).toBeLessThan(100)
      expect(before.rows).toBeGreaterThan(8 * after.rows)
      expect((await costs('&all=true')).d1RoundTrips).toBe(2)
    },
  )
})
