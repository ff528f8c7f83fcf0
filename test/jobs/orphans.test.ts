import { env } from 'cloudflare:workers'
import { describe, it } from 'vitest'
import { sweep } from '../../src/jobs/sweep.ts'
import { INLINE_BYTES, ORPHAN_AGE_MS, ORPHAN_PASS_MS } from '../../src/limits.ts'
import { aSpan } from '../support/builders.ts'
import { newTrace } from '../support/trace.ts'

const large = () => `${crypto.randomUUID()}${'x'.repeat(INLINE_BYTES * 2)}`

/** Runs cron enough times for a whole pass, as if `later` milliseconds had passed. */
async function sweepAll(later: number): Promise<void> {
  await env.DB.prepare('delete from sweeps').run()
  for (let run = 0; run < 3; run++) await sweep(env, Date.now() + later)
}

const objectsOf = async (organizationId: string) =>
  (await env.PAYLOADS.list({ prefix: `${organizationId}/` })).objects.map(({ key }) => key)

describe('the sweep of unreferenced objects', () => {
  it('removes objects left by rejected and repeated writes, and keeps referenced ones', async ({ expect }) => {
    const { org, trace_id, observe, read } = await newTrace()
    const observation_id = crypto.randomUUID()
    await Promise.all(Array.from({ length: 5 }, () => observe({ observation_id, data: large() })))
    const span = aSpan({ trace_id, input: large(), output: large() })
    await org.ingest.post('/api/v1/spans', span)
    await org.ingest.post('/api/v1/spans', { ...span, input: large(), output: undefined })
    const root = await read()
    await org.ingest.post('/api/v1/spans', aSpan({ trace_id, span_id: root.spans[0].id, input: large() }))
    const before = await read()
    expect(await objectsOf(org.id)).toHaveLength(8)
    await sweepAll(ORPHAN_AGE_MS + 60_000)
    // The four objects hold the observation, the span's output and first input, its second input, and the root's input.
    expect(await objectsOf(org.id)).toHaveLength(4)
    expect(await read()).toEqual(before)
  })

  it('keeps approved outputs that have since been replaced, and suggested ones', async ({ expect }) => {
    const { org, step, spanOf } = await newTrace()
    const span_id = crypto.randomUUID()
    const review = (body: object) => org.owner.put(`/api/spans/${span_id}/review`, body)
    const [output, corrected] = [large(), large()]
    await step({ span_id, output })
    await review({ decision: 'accept' })
    // The output and its approval share one object. The replaced correction remains in the history.
    await review({ decision: 'correct', approvedOutput: corrected })
    await review({ decision: 'correct', approvedOutput: large() })
    await step({ span_id, output: large() })
    await org.owner.put(
      `/api/spans/${span_id}/review`,
      { decision: 'correct', approvedOutput: large() },
      { 'if-match': '"x"' },
    )
    const agent = org.clientOf(await org.keyFor({ actsAs: 'agent' }))
    const suggestion = { decision: 'correct', approvedOutput: large() }
    await agent.put(`/api/spans/${span_id}/review`, { ...suggestion, approvedOutput: large() })
    await agent.put(`/api/spans/${span_id}/review`, suggestion)
    const history = async () => (await org.owner.get(`/api/spans/${span_id}/reviews`)).body
    const before = [await spanOf(span_id), await history()]
    expect(before[0].suggestions).toMatchObject([suggestion])
    expect(await objectsOf(org.id)).toHaveLength(6)
    await sweepAll(ORPHAN_AGE_MS + 60_000)
    // A suggestion that was replaced is gone, and so is its object.
    expect(await objectsOf(org.id)).toHaveLength(5)
    expect([await spanOf(span_id), await history()]).toEqual(before)
    expect((await history()).reviews.at(-1).after).toBe(output)
  })

  it("keeps dataset items' values, and those of imported examples", async ({ expect }) => {
    const { org, step } = await newTrace()
    const span_id = crypto.randomUUID()
    await step({ span_id, input: large(), output: large() })
    await org.owner.put(`/api/spans/${span_id}/review`, { decision: 'correct', approvedOutput: large() })
    const [dataset] = (await org.read.get('/api/datasets?projectSlug=support')).body.datasets
    const example = { id: crypto.randomUUID(), input: large(), expected: large(), state: { a: large(), b: large() } }
    const path = `/api/datasets/${dataset.id}/items`
    await org.owner.post(path, { items: [example] })
    await org.owner.post(path, {
      items: [
        { ...example, id: crypto.randomUUID() },
        { input: 1, expected: 2 },
      ],
    })
    // Replace the span's values, so that only the item refers to the earlier ones.
    await step({ span_id, input: large(), output: large() })
    await env.PAYLOADS.put(`${org.id}/imports/1/${example.id}/${crypto.randomUUID()}`, '"x"')
    const before = (await org.read.get(path)).body
    expect(before.items.filter((item: { truncated: string[] }) => item.truncated.length > 0)).toEqual([])
    const stored = await objectsOf(org.id)
    await sweepAll(ORPHAN_AGE_MS + 60_000)
    const left = await objectsOf(org.id)
    expect((await org.read.get(path)).body).toEqual(before)
    expect(stored.filter(key => !left.includes(key))).toEqual([expect.stringContaining('/imports/1/')])
  })

  it('keeps objects that a request in progress may still refer to', async ({ expect }) => {
    const { org } = await newTrace()
    const key = `${org.id}/123/${crypto.randomUUID()}`
    await env.PAYLOADS.put(key, '"x"')
    await sweepAll(ORPHAN_AGE_MS - 60_000)
    expect(await objectsOf(org.id)).toEqual([key])
    await sweepAll(ORPHAN_AGE_MS + 60_000)
    expect(await objectsOf(org.id)).toEqual([])
  })

  it('runs once a day, page by page, and ignores unknown objects', async ({ expect }) => {
    const { org } = await newTrace()
    await env.PAYLOADS.put('somebody-elses', 'x')
    await sweepAll(ORPHAN_AGE_MS + 60_000)
    const key = `${org.id}/123/${crypto.randomUUID()}`
    await env.PAYLOADS.put(key, '"x"')
    await sweep(env, Date.now() + ORPHAN_AGE_MS + 120_000)
    expect(await objectsOf(org.id)).toEqual([key])
    await sweep(env, Date.now() + ORPHAN_AGE_MS + ORPHAN_PASS_MS + 120_000)
    expect(await objectsOf(org.id)).toEqual([])
    expect(await env.PAYLOADS.head('somebody-elses')).not.toBeNull()
  })
})
