import { env } from 'cloudflare:workers'
import { describe, it } from 'vitest'
import { isSampled } from '../../src/domain/review-policy.ts'
import { DAY_MS, POLICY_PASS_TRACES } from '../../src/limits.ts'
import { Deadline } from '../../src/store/core/deadline.ts'
import { openUnscopedStore } from '../../src/store/core/store.ts'
import { continuePolicyPasses } from '../../src/store/reviews/policy-passes.ts'
import { rowsReadBy, wrapBindings } from '../support/bindings.ts'
import { aSpan, aTrace } from '../support/builders.ts'
import { newOrg, type Org } from '../support/org.ts'
import { reviewerOf } from '../support/reviews.ts'

const QUEUE = '/api/review-queue?projectSlug=support&limit=200'

const setPolicy = async (org: Org, policy: object) => {
  const { status, body } = await org.owner.put(`/api/projects/${org.project.id}/review-policy`, policy)
  if (status !== 200) throw new Error(JSON.stringify(body))
}

/** The ids and the number of the spans in the queue. */
async function queued(org: Org, query = ''): Promise<string[]> {
  const { body } = await org.owner.get(`${QUEUE}${query}`)
  if (body.remaining !== body.spans.length) throw new Error(`${body.remaining} remain, not ${body.spans.length}`)
  return body.spans.map(({ id }: { id: string }) => id)
}

/** Adds a trace with a span of each step. Returns the spans' ids. */
async function addTrace(org: Org, stepIds: readonly string[], fields: object = {}) {
  const trace = aTrace({ name: 'run' })
  const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
  const spans = stepIds.map(step_id => aSpan({ trace_id: trace.trace_id, step_id, ...fields }))
  for (const span of spans) await org.ingest.post('/api/v1/spans', span)
  return { id: String(id), trace_id: trace.trace_id, spanIds: spans.map(({ span_id }) => span_id) }
}

/** Runs cron's passes to their end, late enough that all traces count as settled. */
const leaveOut = () =>
  continuePolicyPasses(openUnscopedStore(env, new Deadline(60_000)), {
    now: Date.now() + DAY_MS,
    steps: 10,
    limit: POLICY_PASS_TRACES,
  })

describe('the queue under a policy', () => {
  it('offers the sample, and with `all` also the rest', async ({ expect }) => {
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

  it('asks others for their votes on a span that it would leave out, once somebody has voted', async ({ expect }) => {
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

  it('reads hardly any more rows in two round trips, no matter how much a policy leaves out', async ({ expect }) => {
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
  })
})
