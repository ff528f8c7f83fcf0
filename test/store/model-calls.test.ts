import { describe, it } from 'vitest'
import { recordingBindings, rowsReadBy } from '../support/bindings.ts'
import { databaseOfTrace, isSharded, stored } from '../support/database.ts'
import { newTrace } from '../support/trace.ts'

const LIST = '/api/traces?projectSlug=support'

/** Adds `count` model calls with large values to a trace, with three other spans between consecutive calls. */
async function putCalls(id: string, count: number) {
  await stored
    .prepare(
      `with recursive n(i) as (select 0 union all select i + 1 from n where i < ?1 * 4 - 1)
     insert into spans (id, trace_key, is_root, step_id, timestamp, input, output, model, usage, cost_usd)
     select printf('00000000-0000-4000-8000-%012d', i), key, 0, 'step', timestamp + 1 + i,
       '"' || substr(hex(zeroblob(4000)), 1, 8000) || '"', '"' || i || '"',
       iif(i % 4 = 0, 'gpt-4.1-mini', null),
       iif(i % 4 = 0, '{"inputTokens":412,"outputTokens":36,"totalTokens":448,"cachedTokens":256}', null),
       iif(i % 4 = 0, 0.25, null)
     from traces cross join n where traces.id = ?2 and deleted_at is null`,
    )
    .bind(count, id)
    .run()
}

describe("a trace's model, usage, and cost", () => {
  it('are read from a covering index, for the list and for a single trace', async ({ expect }) => {
    const { org, id } = await newTrace()
    const { bindings, statements } = recordingBindings()
    const reader = org.bearer(bindings)
    await reader.get(LIST)
    await reader.get(`/api/traces/${id}`)
    const sums = statements.filter(({ sql }) => sql.includes("'costUsd'"))
    expect(sums).toHaveLength(isSharded ? 3 : 2)
    for (const { sql, values } of sums) {
      const { results } = await databaseOfTrace(id)
        .prepare(`explain query plan ${sql}`)
        .bind(...values)
        .all<{ detail: string }>()
      const calls = results
        .map(({ detail }) => detail)
        .filter(detail => /^(SCAN|SEARCH) (call|below) .*USING/.test(detail))
      expect(calls).toEqual([
        'SEARCH call USING COVERING INDEX spans_by_model_use (trace_key=?)',
        ...Array(2).fill('SEARCH below USING COVERING INDEX spans_by_model_use (trace_key=? AND parent_id=?)'),
      ])
    }
  })

  it('take one row per model call to read, and no rows for other spans', async ({ expect }) => {
    const { org, id, observe } = await newTrace()
    // The root has an input and an output, so the list doesn't look for a step that has them.
    await observe({ type: 'input' })
    await observe({ type: 'output' })
    const cost = () => rowsReadBy(bindings => org.bearer(bindings).get(LIST))
    await cost()
    const before = await cost()
    await putCalls(id, 100)
    const { traces } = (await org.read.get(LIST)).body
    expect(traces).toMatchObject([
      { spanCount: 401, model: 'gpt-4.1-mini', usage: { inputTokens: 41_200, totalTokens: 44_800 }, costUsd: 25 },
    ])
    // The count reads each span. The sums read each call and look for calls below it.
    expect((await cost()) - before).toBeLessThanOrEqual(400 + 2 * 100 + 10)
  })
})
