import { env } from 'cloudflare:workers'
import { afterEach, describe, it, vi } from 'vitest'
import { sweep } from '../../src/jobs/sweep.ts'
import { DELETION_SETTLE_MS, INLINE_BYTES, ORPHAN_AGE_MS } from '../../src/limits.ts'
import { wrapBindings } from '../support/bindings.ts'
import { stored } from '../support/database.ts'
import { keysOf, newBench, newStep, purgeTrace } from '../support/experiments.ts'
import type { Org } from '../support/org.ts'
import { reviewerOf } from '../support/reviews.ts'

afterEach(() => {
  vi.useRealTimers()
})

const LARGE = 'some words '.repeat(INLINE_BYTES)

const objectsOf = async (org: Org, prefix = '') =>
  (await env.PAYLOADS.list({ prefix: `${org.id}/${prefix}` })).objects.map(({ key }) => key)

const resultsOf = async (traceKey: number) =>
  (await stored.prepare('select count(*) as n from experiment_results where trace_key = ?').bind(traceKey).first())?.n

describe('deleting a trace', () => {
  it('deletes its results and their values, but finished experiments keep their counts', async ({ expect }) => {
    const bench = await newBench([{ expected: 1 }])
    const [imported = ''] = bench.ids
    const kept = await newStep(bench.org, { output: 'some words' })
    const deleted = await newStep(bench.org, { output: 'some words' })
    for (const { review } of [kept, deleted]) await review({ decision: 'accept' })
    const finished = await bench.begin()
    const running = await bench.begin()
    await finished.sendOutputs({ [imported]: 1, [kept.spanId]: 'some words', [deleted.spanId]: LARGE })
    await finished.review(deleted.spanId, 'accept')
    await running.sendOutputs({ [kept.spanId]: LARGE, [deleted.spanId]: 'other words' })
    const before = await finished.report()
    expect(before).toMatchObject({ state: 'finished', counts: { passed: 3, stillRight: 2 }, removed: 0 })
    expect(await objectsOf(bench.org, 'experiments/')).toHaveLength(2)
    const traceKey = await purgeTrace(bench.org, deleted.id)
    expect(await resultsOf(traceKey)).toBe(0)
    expect(await objectsOf(bench.org, 'experiments/')).toEqual([expect.stringContaining(kept.spanId)])
    expect(await objectsOf(bench.org, `${traceKey}/`)).toEqual([])
    expect(await finished.report()).toEqual({ ...before, removed: 1 })
    expect(await finished.itemIds()).toEqual([kept.spanId, imported])
    expect(await running.report()).toMatchObject({
      state: 'running',
      items: 3,
      pending: 1,
      removed: 1,
      counts: { unjudged: 1 },
    })
    expect((await finished.review(deleted.spanId, 'reject')).status).toBe(404)
    expect(await running.sendOutputs({ [deleted.spanId]: 'x' })).toEqual([404])
    expect(await running.sendOutputs({ [imported]: 1 })).toEqual([201])
    expect(await running.report()).toMatchObject({ state: 'finished', removed: 1, counts: { passed: 1, unjudged: 1 } })
  })

  it('without a result leaves the experiment with one fewer item', async ({ expect }) => {
    const bench = await newBench([{ expected: 1 }, { expected: 2 }])
    const deleted = await newStep(bench.org)
    await deleted.review({ decision: 'accept' })
    const { finish, sendOutputs, report, itemIds } = await bench.begin()
    const early = await bench.begin()
    await early.finish()
    await sendOutputs({ [bench.ids[0] ?? '']: 1 })
    await purgeTrace(bench.org, deleted.id)
    expect(await itemIds('pending=true')).toEqual([bench.ids[1]])
    expect((await finish()).body).toMatchObject({ items: 3, pending: 0 })
    expect(await report()).toMatchObject({ items: 3, removed: 1, counts: { passed: 1, error: 1 } })
    expect(await early.report()).toMatchObject({ items: 3, removed: 1, counts: { error: 3 } })
  })

  it('keeps the counts of an experiment that nobody has read since it finished', async ({ expect }) => {
    const bench = await newBench([{ expected: 1 }])
    const deleted = await newStep(bench.org)
    await deleted.review({ decision: 'accept' })
    const { id, finish, sendOutputs, report } = await bench.begin()
    await sendOutputs({ [deleted.spanId]: { answer: 12 } })
    await finish()
    // This is the state that remains if the request is cut off after it ends the experiment.
    await stored.batch([
      stored.prepare('update experiments set tally = null, results = 1 where id = ?').bind(id),
      stored
        .prepare(
          `delete from experiment_results
         where outcome = 'error' and experiment_key = (select key from experiments where id = ?)`,
        )
        .bind(id),
    ])
    await purgeTrace(bench.org, deleted.id)
    expect(await report()).toMatchObject({ state: 'finished', items: 2, removed: 1, pending: 0, counts: { error: 1 } })
  })
})

describe('deleting a trace while its result is stored', () => {
  /** A key whose requests delete a trace right before they write results. */
  function deletingKey(org: Org, traceId: string) {
    let state: 'waiting' | 'due' | 'done' = 'waiting'
    const bindings = wrapBindings(
      async (_, call) => {
        if (state === 'due') {
          state = 'done'
          await purgeTrace(org, traceId)
        }
        return call()
      },
      undefined,
      ({ sql }) => {
        if (state === 'waiting' && sql.startsWith('insert into "experiment_results"')) state = 'due'
      },
    )
    return org.bearer(bindings)
  }

  it('loses only that result', async ({ expect }) => {
    const bench = await newBench([{ expected: 1 }])
    const [imported = ''] = bench.ids
    const deleted = await newStep(bench.org)
    await deleted.review({ decision: 'accept' })
    const { path, report, itemIds } = await bench.begin()
    const traceKey = (await keysOf(deleted.id))?.key ?? 0
    const results = [
      { itemId: deleted.spanId, output: LARGE },
      { itemId: imported, output: 1 },
    ]
    const sent = await deletingKey(bench.org, deleted.id).post(`${path}/results`, { results })
    expect(sent.body.results).toMatchObject([{ status: 404 }, { status: 201, body: { outcome: 'passed' } }])
    expect(await resultsOf(traceKey)).toBe(0)
    expect(await itemIds()).toEqual([imported])
    expect(await report()).toMatchObject({ counts: { passed: 1, failed: 0, unjudged: 0, error: 0 } })
  })

  it('leaves no error behind if the experiment is finished at that moment', async ({ expect }) => {
    const bench = await newBench([{ expected: 1 }])
    const deleted = await newStep(bench.org)
    await deleted.review({ decision: 'accept' })
    const { path, report } = await bench.begin()
    const traceKey = (await keysOf(deleted.id))?.key ?? 0
    expect(await deletingKey(bench.org, deleted.id).post(`${path}/finish`)).toMatchObject({
      status: 200,
      body: { state: 'finished', pending: 0 },
    })
    expect(await resultsOf(traceKey)).toBe(0)
    expect(await report()).toMatchObject({ items: 2, removed: 1, counts: { error: 1 } })
  })
})

describe('expiry', () => {
  it('deletes results as any other deletion does', async ({ expect }) => {
    const bench = await newBench()
    const step = await newStep(bench.org, { output: 'some words' })
    await step.review({ decision: 'accept' })
    const { sendOutputs, report } = await bench.begin()
    await sendOutputs({ [step.spanId]: LARGE })
    const before = await report()
    const traceKey = (await keysOf(step.id))?.key ?? 0
    await bench.org.owner.patch(`/api/projects/${bench.org.project.id}`, { retentionDays: 1, retainReviewed: false })
    const later = Date.now() + 400 * 86_400_000
    const { JOBS, ...bindings } = env
    for (let run = 0; run < 20; run++) await sweep(bindings, later + run * 120_000)
    expect(await resultsOf(traceKey)).toBe(0)
    expect(await objectsOf(bench.org, 'experiments/')).toEqual([])
    expect(await report()).toEqual({ ...before, removed: 1, changedSince: expect.anything() })
  })
})

describe('the sweep of unreferenced objects', () => {
  it("keeps results' values and deletes values that no result has", async ({ expect }) => {
    const bench = await newBench([{ expected: 1 }, { expected: 2 }])
    const [first = '', second = ''] = bench.ids
    const { sendOutputs, items } = await bench.begin()
    await sendOutputs({ [first]: LARGE })
    const [key = ''] = await objectsOf(bench.org, 'experiments/')
    const lost = key.replace(first, second)
    await env.PAYLOADS.put(lost, '"x"')
    await env.PAYLOADS.put(`${key.slice(0, -36)}${crypto.randomUUID()}`, '"x"')
    const before = await items()
    const { JOBS, ...bindings } = env
    // This time is later than all passes in the earlier tests.
    const later = Date.now() + 500 * ORPHAN_AGE_MS
    for (let run = 0; run < 5; run++) await sweep(bindings, later + 120_000 * run)
    expect(await objectsOf(bench.org, 'experiments/')).toEqual([key])
    expect(await items()).toEqual(before)
  })
})

describe('deleting a user', () => {
  it("replaces the user's id in experiments and in decisions on results with a random id", async ({ expect }) => {
    const bench = await newBench([{ expected: 'some words' }])
    const [itemId = ''] = bench.ids
    const { userId, client } = await reviewerOf(bench.org)
    const own = (await client.post('/api/experiments', bench.draft())).body
    await client.post(`/api/experiments/${own.id}/results`, { results: [{ itemId, output: 'other words' }] })
    await client.post(`/api/experiments/${own.id}/items/${itemId}/review`, { decision: 'accept' })
    expect(own.createdBy).toBe(userId)
    await bench.org.owner.delete(`/api/users/${userId}`)
    const { JOBS, ...bindings } = env
    const left = async () => Number((await stored.prepare('select count(*) as n from user_deletions').first())?.n)
    for (let at = Date.now(); (await left()) > 0; at += DELETION_SETTLE_MS) {
      vi.useFakeTimers({ toFake: ['Date'], now: at })
      await sweep(bindings, at)
    }
    vi.useRealTimers()
    const [entry] = (await bench.org.owner.get('/api/audit-log?action=user.delete')).body.entries
    const report = (await bench.org.read.get(`/api/experiments/${own.id}`)).body
    const [item] = (await bench.org.read.get(`/api/experiments/${own.id}/items`)).body.items
    expect([report.createdBy, item.review.by]).toEqual([entry.targetId, entry.targetId])
    expect(entry.targetId).not.toBe(userId)
  })
})
