import { env } from 'cloudflare:workers'
import { describe, it } from 'vitest'
import { EXPERIMENT_SILENCE_MS, INLINE_BYTES, MAX_RESULTS } from '../../src/limits.ts'
import { newBench } from '../support/experiments.ts'
import { client } from '../support/org.ts'

const numbers = (count: number) => Array.from({ length: count }, (_, index) => ({ expected: index }))

/** Makes it look as if the experiment's last result had arrived this much earlier. */
const age = (id: string, ms: number) =>
  env.DB.prepare('update experiments set active_at = active_at - ?2 where id = ?1').bind(id, ms).run()

describe('a result', () => {
  it('is stored with its outcome', async ({ expect }) => {
    const { ids, begin } = await newBench([{ expected: 1 }, { expected: 'two words' }, { expected: { a: 1, b: 2 } }])
    const [first = '', second = '', third = ''] = ids
    const { send, report } = await begin()
    const sent = await send(
      { itemId: first, output: 1, durationMs: 10, usage: { inputTokens: 1, outputTokens: 2 }, costUsd: 0.5 },
      {
        itemId: second,
        output: 'other words',
        traceId: 'mine',
        usage: { inputTokens: 1, outputTokens: 2, totalTokens: 9 },
      },
      { itemId: third, error: 'Timed out' },
    )
    expect(sent.status).toBe(207)
    const common = {
      change: null,
      error: null,
      durationMs: null,
      costUsd: null,
      resultTraceId: null,
      review: null,
      judgment: null,
      judgmentError: null,
    }
    expect(sent.body.results).toEqual([
      {
        status: 201,
        body: {
          ...common,
          itemId: first,
          outcome: 'passed',
          durationMs: 10,
          usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 },
          costUsd: 0.5,
        },
      },
      {
        status: 201,
        body: {
          ...common,
          itemId: second,
          outcome: 'unjudged',
          usage: { inputTokens: 1, outputTokens: 2, totalTokens: 9 },
          resultTraceId: 'mine',
        },
      },
      { status: 201, body: { ...common, itemId: third, outcome: 'error', error: 'Timed out', usage: null } },
    ])
    expect(await report()).toMatchObject({ state: 'running', items: 3, pending: 0 })
  })

  it('sent again changes nothing, and a different output is a conflict', async ({ expect }) => {
    const { ids, begin } = await newBench([{ expected: { a: 1, b: 2 } }, ...numbers(1)])
    const [itemId = '', other = ''] = ids
    const { send, items } = await begin()
    const [first] = (await send({ itemId, output: { a: 1, b: 2 } })).body.results
    expect((await send({ itemId, output: { b: 2, a: 1 } })).body.results).toEqual([{ ...first, status: 200 }])
    expect((await send({ itemId, output: { a: 1 } }, { itemId: other, output: 0 })).body.results).toMatchObject([
      { status: 409, body: { details: [{ path: 'results.0.output' }] } },
      { status: 201 },
    ])
    expect((await send({ itemId, error: 'Too late' })).body.results).toMatchObject([{ status: 409 }])
    expect((await items()).items.find(({ id }: { id: string }) => id === itemId)).toMatchObject({
      output: { a: 1, b: 2 },
      outcome: 'passed',
    })
  })

  it('replaces an error while the experiment runs', async ({ expect }) => {
    const { ids, begin } = await newBench(numbers(3))
    const [itemId = '', other = ''] = ids
    const { send, report, finish, items } = await begin()
    await send({ itemId, error: 'Broke' }, { itemId: other, error: 'Broke' })
    expect(await report()).toMatchObject({ pending: 1, counts: { error: 2 } })
    expect((await send({ itemId, error: 'Broke' })).body.results).toMatchObject([{ status: 200 }])
    expect((await send({ itemId, error: 'Again' })).body.results).toMatchObject([
      { status: 200, body: { error: 'Again' } },
    ])
    expect((await send({ itemId, output: 0 })).body.results).toMatchObject([
      { status: 200, body: { outcome: 'passed', error: null } },
    ])
    expect((await send({ itemId, output: 1 })).body.results).toMatchObject([{ status: 409 }])
    expect(await report()).toMatchObject({ pending: 1, counts: { passed: 1, error: 1 } })
    await finish()
    expect((await send({ itemId: other, output: 1 }, { itemId, output: 0 })).body.results).toMatchObject([
      { status: 409 },
      { status: 200 },
    ])
    const errors = (await items('outcome=error')).items.map(({ error }: { error: string }) => error)
    expect(errors.toSorted()).toEqual(['Broke', 'No result had arrived when the experiment was finished'])
  })

  it('for an item outside the experiment is rejected, and affects no other result', async ({ expect }) => {
    const { ids, begin, add } = await newBench([
      { expected: 1, split: 'test' },
      { expected: 2, split: 'train' },
    ])
    const [itemId = '', other = ''] = ids
    const { send, report } = await begin({ split: 'test' })
    const [later = ''] = await add([{ expected: 3, split: 'test' }])
    const sent = await send(
      { itemId: other, output: 2 },
      { itemId: later, output: 3 },
      { itemId: crypto.randomUUID(), output: 1 },
      { itemId, output: 1, error: 'Both' },
      { itemId },
      { itemId: 'nonsense', output: 1 },
      { itemId, output: 1, typo: 1 },
      { itemId, output: 1 },
      { itemId, output: 2 },
      'nonsense' as unknown as object,
    )
    expect(sent.body.results).toMatchObject([
      { status: 404 },
      { status: 404 },
      { status: 404 },
      { status: 400, body: { details: [{ path: 'results.3.output' }] } },
      { status: 400 },
      { status: 400, body: { details: [{ path: 'results.5.itemId' }] } },
      { status: 400, body: { details: [{ path: 'results.6.typo' }] } },
      { status: 201, body: { outcome: 'passed' } },
      { status: 400, body: { details: [{ path: 'results.8.itemId' }] } },
      { status: 400 },
    ])
    expect(await report()).toMatchObject({ state: 'finished', items: 1, counts: { passed: 1 } })
  })

  it('may be null', async ({ expect }) => {
    const { ids, begin } = await newBench([{ expected: null }, { expected: 1 }])
    const { sendOutputs, items } = await begin()
    expect(await sendOutputs({ [ids[0] ?? '']: null, [ids[1] ?? '']: null })).toEqual([201, 201])
    const outcomes = (await items()).items.map(({ outcome, expected }: { outcome: string; expected: unknown[] }) => [
      expected[0],
      outcome,
    ])
    expect(Object.fromEntries(outcomes)).toEqual({ null: 'passed', 1: 'failed' })
  })

  it('may be large', async ({ expect }) => {
    const { org, ids, begin } = await newBench([{ expected: 1 }, { expected: 2 }])
    const [itemId = '', other = ''] = ids
    const output = { text: 'x '.repeat(INLINE_BYTES) }
    const { sendOutputs, items } = await begin()
    expect(await sendOutputs({ [itemId]: output, [other]: output })).toEqual([201, 201])
    expect(await sendOutputs({ [itemId]: output })).toEqual([200])
    expect((await items()).items).toMatchObject([{ output }, { output }])
    const { objects } = await env.PAYLOADS.list({ prefix: `${org.id}/experiments/` })
    expect(objects.map(({ key }) => key.split('/').at(-2)).sort()).toEqual([itemId, other].sort())
  })

  it('is the first of two that arrive at the same time', async ({ expect }) => {
    const { ids, begin } = await newBench(numbers(2))
    const [itemId = ''] = ids
    const { send, items, report } = await begin()
    const outputs = [1, 2, 3, 4]
    const sent = await Promise.all(outputs.map(output => send({ itemId, output })))
    const statuses = sent.map(({ body }) => body.results[0].status)
    expect(statuses.toSorted()).toEqual([201, 409, 409, 409])
    const [stored] = (await items('pending=false')).items
    expect(stored.output).toBe(outputs[statuses.indexOf(201)])
    expect(await report()).toMatchObject({ pending: 1, counts: { failed: 1 } })
  })

  it('needs the review or manage scope', async ({ expect }) => {
    const { org, ids, begin } = await newBench(numbers(2))
    const { path } = await begin()
    const results = { results: [{ itemId: ids[0], output: 0 }] }
    const as = async (scope: string) =>
      (await client({ 'x-api-key': await org.keyFor({ scopes: [scope] }) }).post(`${path}/results`, results)).status
    expect([await as('read'), await as('ingest'), await as('review'), await as('manage')]).toEqual([403, 403, 207, 207])
  })

  it('can be sent with up to 199 others', async ({ expect }) => {
    const { ids, begin } = await newBench(numbers(MAX_RESULTS + 1))
    const { send, report } = await begin()
    const all = ids.map((itemId, index) => ({ itemId, output: index }))
    expect(await send(...all)).toMatchObject({ status: 400, body: { details: [{ path: 'results' }] } })
    const sent = (await send(...all.slice(1))).body.results
    expect(new Set(sent.map(({ status }: { status: number }) => status))).toEqual(new Set([201]))
    expect(await report()).toMatchObject({ pending: 1, counts: { passed: MAX_RESULTS } })
  })
})

describe('an experiment', () => {
  it('finishes when every item has an output', async ({ expect }) => {
    const { ids, begin } = await newBench(numbers(2))
    const [first = '', second = ''] = ids
    const { send, sendOutputs, report } = await begin()
    await sendOutputs({ [first]: 0 })
    await send({ itemId: second, error: 'Broke' })
    expect(await report()).toMatchObject({ state: 'running', pending: 0, finishedAt: null })
    await sendOutputs({ [second]: 1 })
    const report1 = await report()
    expect(report1).toMatchObject({ state: 'finished', pending: 0, counts: { passed: 2, error: 0 }, coverage: 1 })
    expect(report1.finishedAt).toBe(report1.lastResultAt)
    expect(await sendOutputs({ [first]: 0, [second]: 2 })).toEqual([200, 409])
    expect(await report()).toEqual(report1)
  })

  it('can be finished early, which turns pending items into errors', async ({ expect }) => {
    const { ids, begin } = await newBench(numbers(4))
    const { send, sendOutputs, finish, cancel, report } = await begin()
    await sendOutputs({ [ids[0] ?? '']: 0 })
    await send({ itemId: ids[1], error: 'Broke' })
    const finished = await finish()
    expect(finished).toMatchObject({ status: 200, body: { state: 'finished', pending: 0, items: 4 } })
    expect(await report()).toMatchObject({
      state: 'finished',
      counts: { passed: 1, error: 3 },
      passRate: 0.25,
      coverage: 0.25,
      removed: 0,
    })
    expect((await finish()).body).toEqual(finished.body)
    expect(await cancel()).toMatchObject({ status: 409 })
    expect(await sendOutputs({ [ids[2] ?? '']: 2 })).toEqual([409])
  })

  it('can be canceled, and keeps its results', async ({ expect }) => {
    const { ids, begin } = await newBench(numbers(3))
    const { sendOutputs, finish, cancel, report } = await begin()
    await sendOutputs({ [ids[0] ?? '']: 0 })
    const cancelled = await cancel()
    expect(cancelled).toMatchObject({ status: 200, body: { state: 'cancelled', pending: 2 } })
    expect((await cancel()).body).toEqual(cancelled.body)
    expect(await finish()).toMatchObject({ status: 409 })
    expect(await sendOutputs({ [ids[0] ?? '']: 0, [ids[1] ?? '']: 1 })).toEqual([200, 409])
    expect(await report()).toMatchObject({ state: 'cancelled', counts: { passed: 1, error: 0 }, passRate: 1 })
  })

  it('fails if no result arrives for 24 hours, and accepts none after that', async ({ expect }) => {
    const { ids, begin } = await newBench(numbers(3))
    const { id, sendOutputs, finish, cancel, report } = await begin()
    await age(id, EXPERIMENT_SILENCE_MS - 60_000)
    expect(await sendOutputs({ [ids[0] ?? '']: 0 })).toEqual([201])
    await age(id, EXPERIMENT_SILENCE_MS - 60_000)
    expect(await report()).toMatchObject({ state: 'running' })
    await age(id, 60_001)
    expect(await report()).toMatchObject({ state: 'failed', pending: 2, counts: { passed: 1 } })
    expect(await sendOutputs({ [ids[0] ?? '']: 0, [ids[1] ?? '']: 1 })).toEqual([200, 409])
    expect([(await finish()).status, (await cancel()).status]).toEqual([409, 409])
    expect(await report()).toMatchObject({ state: 'failed', pending: 2, counts: { passed: 1 } })
  })
})
