import { describe, it } from 'vitest'
import { isSampled } from '../../src/domain/review-policy.ts'
import { aSpan, aTrace } from '../support/builders.ts'
import { newOrg, type Org } from '../support/org.ts'

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

describe('the queue under a policy', () => {
  it('offers what sampling picks, and with `all` the rest', async ({ expect }) => {
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
})
