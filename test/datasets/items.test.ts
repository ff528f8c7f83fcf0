import { env } from 'cloudflare:workers'
import { describe, it } from 'vitest'
import type { Env, Job } from '../../src/env.ts'
import { runJob } from '../../src/jobs/consumer.ts'
import { sweep } from '../../src/jobs/sweep.ts'
import { INLINE_BYTES, RESEND_AFTER_MS } from '../../src/limits.ts'
import { wrapBindings } from '../support/bindings.ts'
import { stored } from '../support/database.ts'
import { newBench } from '../support/experiments.ts'
import { newOrg, type Org } from '../support/org.ts'
import { newReviewed } from '../support/reviews.ts'
import { newTrace } from '../support/trace.ts'

const OUTPUT = { answer: 'The warranty is 12 months.' }
const CORRECTION = { answer: 'The warranty is 24 months.' }
const STEP = 'generate-answer'

/** A tenant, the dataset for the step under test, and the dataset's items. */
async function newDataset(tenant?: Org) {
  const org = tenant ?? (await newOrg())
  const list = async () => (await org.read.get('/api/datasets?projectSlug=support')).body.datasets
  const dataset = async (stepId = STEP) =>
    (await list()).find((each: { stepId: string }) => each.stepId === stepId) ?? { items: 0 }
  const items = async (query = '', stepId = STEP) =>
    (await org.read.get(`/api/datasets/${(await dataset(stepId)).id}/items?${query}`)).body
  return { org, list, dataset, items }
}

/** A span with input, state, and output, in its own trace. */
async function newStep(org: Org, { output = OUTPUT, input = { question: 'How long?' }, metadata = {} }: Fields = {}) {
  const trace = await newReviewed(null, org)
  const span_id = crypto.randomUUID()
  await trace.step({ span_id, step_id: STEP, input, output, metadata })
  const review = (body: object) => org.owner.put(`/api/spans/${span_id}/review`, body)
  return { ...trace, spanId: span_id, review }
}

interface Fields {
  output?: unknown
  input?: unknown
  metadata?: object
}

/** Runs cron two minutes later with a queue that collects the jobs, and then runs the jobs. */
async function runCron(run: (job: Job) => Promise<void> = job => runJob(job, env)): Promise<void> {
  const jobs: Job[] = []
  const JOBS = {
    ...env.JOBS,
    send: async (job: Job) => {
      jobs.push(job)
      return { metadata: { metrics: { backlogBytes: 0, backlogCount: 0 } } }
    },
  } as Env['JOBS']
  await sweep({ ...env, ...(JOBS && { JOBS }) }, Date.now() + 2 * RESEND_AFTER_MS)
  for (const job of jobs) await run(job)
}

describe('a decision', () => {
  it('turns the span into an item with its values at that time', async ({ expect }) => {
    const { org, dataset, items } = await newDataset()
    const { id, spanId, review, observe } = await newStep(org, { metadata: { tier: 'gold' } })
    await observe({ span_id: spanId, type: 'state', key: 'chunks', data: ['24 months'] })
    await review({ decision: 'correct', approvedOutput: CORRECTION, errorType: 'reasoning_error' })
    expect(await dataset()).toMatchObject({ items: 1, accepted: 0, corrected: 1, imported: 0, excluded: 0 })
    const page = await items()
    expect(page).toMatchObject({ removed: 0, nextCursor: null, version: (await dataset()).version })
    expect(page.items).toEqual([
      {
        id: spanId,
        spanId,
        traceId: id,
        decision: 'correct',
        by: expect.any(String),
        at: expect.any(String),
        errorType: 'reasoning_error',
        promptVersionId: null,
        split: expect.stringMatching(/^(train|test)$/),
        stale: false,
        excluded: false,
        note: null,
        input: { question: 'How long?' },
        state: { chunks: ['24 months'] },
        output: OUTPUT,
        expected: [CORRECTION],
        metadata: { tier: 'gold' },
        truncated: [],
      },
    ])
    const { body } = await org.owner.get(`/api/datasets/${(await dataset()).id}/items/${spanId}`)
    expect(body).toEqual(page.items[0])
  })

  it('replaces the previous one, and a reset removes the item', async ({ expect }) => {
    const { org, dataset, items } = await newDataset()
    const { review } = await newStep(org)
    await review({ decision: 'accept' })
    const first = await dataset()
    await review({ decision: 'correct', approvedOutput: CORRECTION })
    const second = await dataset()
    expect([first, second]).toMatchObject([
      { accepted: 1, corrected: 0 },
      { accepted: 0, corrected: 1 },
    ])
    await review({ decision: 'reset' })
    expect(await dataset()).toMatchObject({ items: 0, accepted: 0, corrected: 0 })
    expect((await items()).items).toEqual([])
    expect((await items(`version=${first.version}`)).items).toMatchObject([{ decision: 'accept', expected: [OUTPUT] }])
    expect((await items(`version=${second.version}`)).items).toMatchObject([
      { decision: 'correct', expected: [CORRECTION] },
    ])
  })

  it('changes nothing if repeated', async ({ expect }) => {
    const { org, dataset } = await newDataset()
    const { review } = await newStep(org)
    await review({ decision: 'accept' })
    const { version } = await dataset()
    await review({ decision: 'accept' })
    expect((await dataset()).version).toBe(version)
  })

  it('keeps large values in R2', async ({ expect }) => {
    const { org, items } = await newDataset()
    const text = 'x'.repeat(INLINE_BYTES)
    const input = { question: text }
    const { review, spanId, observe } = await newStep(org, { input, output: { answer: text } })
    await observe({ span_id: spanId, type: 'state', key: 'chunks', data: [text] })
    await observe({ span_id: spanId, type: 'input', data: { more: text } })
    await review({ decision: 'correct', approvedOutput: { answer: `${text}!` } })
    expect((await items()).items).toMatchObject([
      {
        input: { question: text, more: text },
        output: { answer: text },
        expected: [{ answer: `${text}!` }],
        state: { chunks: [text] },
      },
    ])
  })

  it('freezes the values, and marks the item stale once the output changes', async ({ expect }) => {
    const { org, dataset, items } = await newDataset()
    const { review, spanId, observe } = await newStep(org)
    await review({ decision: 'accept' })
    const before = await dataset()
    await observe({ span_id: spanId, data: { answer: 'Something else' } })
    await observe({ span_id: spanId, type: 'input', data: { more: 1 } })
    const stale = (await items()).items
    expect(stale).toMatchObject([{ stale: true, input: { question: 'How long?' }, output: OUTPUT, expected: [OUTPUT] }])
    await runCron()
    expect((await items()).items).toEqual(stale)
    expect((await dataset()).version).not.toBe(before.version)
    await review({ decision: 'accept' })
    expect((await items()).items).toMatchObject([
      { stale: false, input: { question: 'How long?', more: 1 }, output: { answer: 'Something else' } },
    ])
  })

  it('from before datasets existed gets its item, no matter where the job is interrupted', async ({ expect }) => {
    const { org, list, items } = await newDataset()
    for (const metadata of [{ group_id: 'a' }, {}]) {
      const { review } = await newStep(org, { metadata })
      await review({ decision: 'correct', approvedOutput: CORRECTION, errorType: 'reasoning_error' })
    }
    const before = (await items()).items
    expect(before).toHaveLength(2)
    await stored.batch([
      stored
        .prepare('delete from dataset_entries where project_key = (select key from projects where id = ?)')
        .bind(org.project.id),
      stored
        .prepare('delete from datasets where project_key = (select key from projects where id = ?)')
        .bind(org.project.id),
      stored.prepare("delete from sweeps where name = 'items'"),
    ])
    expect(await list()).toEqual([])
    await runCron(async job => {
      for (let calls = 0, isDone = false; !isDone; calls++) {
        let made = 0
        const cutOff = wrapBindings(async (_, call) => {
          if (made++ === calls) throw new Error('cut off')
          return call()
        })
        isDone = await runJob(job, cutOff).then(
          () => true,
          () => false,
        )
      }
    })
    expect((await items()).items).toEqual(before)
    const { version } = await items()
    await stored.prepare("delete from sweeps where name = 'items'").run()
    await runCron()
    expect((await items()).version).toBe(version)
  })

  it('on many spans creates their items', async ({ expect }) => {
    const { org, dataset, items } = await newDataset()
    const steps = await Promise.all([1, 2, 3].map(() => newStep(org)))
    const reviews = steps.map(({ spanId }) => ({ spanId, decision: 'accept' }))
    await org.owner.post('/api/reviews', { reviews })
    expect(await dataset()).toMatchObject({ items: 3, accepted: 3 })
    expect((await items()).items.map(({ id }: { id: string }) => id).sort()).toEqual(
      steps.map(({ spanId }) => spanId).sort(),
    )
  })
})

describe('an item of a conversation', () => {
  it('shares a split with the other items in the conversation, and equal inputs share one even outside a conversation', async ({
    expect,
  }) => {
    const { org, items } = await newDataset()
    const steps = await Promise.all([1, 2, 3, 4, 5, 6].map(() => newStep(org, { input: { question: 'Same?' } })))
    for (const { review } of steps) await review({ decision: 'accept' })
    const splits = (await items()).items.map(({ split }: { split: string }) => split)
    expect(new Set(splits).size).toBe(1)
    expect(splits).toHaveLength(6)
  })
})

describe('the items of a dataset', () => {
  it('are listed once each, page by page, newest trace first', async ({ expect }) => {
    const { org, dataset, items } = await newDataset()
    for (let index = 0; index < 5; index++)
      await (await newStep(org, { input: { index } })).review({ decision: 'accept' })
    const all = (await items()).items
    expect(all.map(({ input }: { input: { index: number } }) => input.index)).toEqual([4, 3, 2, 1, 0])
    const { id } = await dataset()
    const paged = []
    for (let cursor = ''; ; ) {
      const page = (await org.read.get(`/api/datasets/${id}/items?limit=2${cursor}`)).body
      paged.push(...page.items)
      if (page.nextCursor === null) break
      cursor = `&cursor=${page.nextCursor}`
    }
    expect(paged).toEqual(all)
  })

  it('can be filtered by split, decision, and error type', async ({ expect }) => {
    const { org, items } = await newDataset()
    const accepted = await newStep(org, { input: 1 })
    const corrected = await newStep(org, { input: 2 })
    await accepted.review({ decision: 'accept' })
    await corrected.review({ decision: 'correct', approvedOutput: CORRECTION, errorType: 'reasoning_error' })
    const ids = async (query: string) => (await items(query)).items.map(({ id }: { id: string }) => id)
    expect(await ids('decision=accept')).toEqual([accepted.spanId])
    expect(await ids('decision=correct&limit=1')).toEqual([corrected.spanId])
    expect(await ids('errorType=reasoning_error')).toEqual([corrected.spanId])
    expect((await ids('split=train')).length + (await ids('split=test')).length).toBe(2)
    expect(await ids('split=dev')).toEqual([])
  })

  it('disappear from every version when their trace is deleted', async ({ expect }) => {
    const { org, dataset, items } = await newDataset()
    const kept = await newStep(org)
    const deleted = await newStep(org)
    await kept.review({ decision: 'accept' })
    await deleted.review({ decision: 'accept' })
    const both = await dataset()
    await org.owner.delete(`/api/traces/${deleted.id}`)
    expect((await items()).items).toMatchObject([{ id: kept.spanId }])
    await runCron()
    expect(await dataset()).toMatchObject({ items: 1, accepted: 1 })
    expect(await items()).toMatchObject({ removed: 1, items: [{ id: kept.spanId }] })
    expect(await items(`version=${both.version}`)).toMatchObject({ removed: 1, items: [{ id: kept.spanId }] })
  })
})

describe('a root with the text of a step below it', () => {
  it('is an item in its own step’s dataset, in its own form', async ({ expect }) => {
    const { org, items } = await newDataset()
    const trace = await newReviewed(OUTPUT.answer, org)
    const span_id = crypto.randomUUID()
    await trace.step({ span_id, step_id: STEP, input: 'How long?', output: OUTPUT })
    await org.owner.put(`/api/spans/${span_id}/review`, { decision: 'correct', approvedOutput: CORRECTION })
    const root = (await trace.read()).trace.spans[0]
    expect((await items()).items).toMatchObject([{ id: span_id, output: OUTPUT, expected: [CORRECTION] }])
    expect((await items('', root.stepId)).items).toMatchObject([
      { id: trace.spanId, decision: 'correct', output: OUTPUT.answer, expected: [CORRECTION.answer] },
    ])
    await org.owner.put(`/api/spans/${span_id}/review`, { decision: 'reset' })
    expect((await items('', root.stepId)).items).toEqual([])
  })

  it.for([
    ['a reset', { decision: 'reset' }],
    ['another decision', { decision: 'correct', approvedOutput: { answer: 'The warranty is 36 months.' } }],
  ] as const)('keeps its item when its text changes, until %s', async ([, review], { expect }) => {
    const { org, items } = await newDataset()
    const trace = await newReviewed(OUTPUT.answer, org)
    const span_id = crypto.randomUUID()
    await trace.step({ span_id, step_id: STEP, input: 'How long?', output: OUTPUT })
    const path = `/api/spans/${span_id}/review`
    await org.owner.put(path, { decision: 'correct', approvedOutput: CORRECTION })
    const { stepId } = (await trace.read()).trace.spans[0]
    await trace.observe({ data: 'This is about something else.' })
    await runCron()
    expect((await items('', stepId)).items).toMatchObject([{ expected: [CORRECTION.answer], stale: true }])
    await org.owner.put(path, review)
    await runCron()
    expect((await items('', stepId)).items).toEqual([])
  })

  it('becomes an item if it arrives after the decision', async ({ expect }) => {
    const { org, items } = await newDataset()
    const trace = await newTrace(org)
    const span_id = crypto.randomUUID()
    await trace.step({ span_id, step_id: STEP, output: OUTPUT })
    await org.owner.put(`/api/spans/${span_id}/review`, { decision: 'accept' })
    await trace.observe({ data: OUTPUT.answer })
    await runCron()
    const root = (await trace.read()).spans[0]
    expect((await items('', root.stepId)).items).toMatchObject([
      { id: root.id, decision: 'accept', expected: [OUTPUT.answer] },
    ])
  })
})

describe('a person', () => {
  it('can exclude an item, move it, and add a note, and later reviews keep these changes', async ({ expect }) => {
    const { org, dataset, items } = await newDataset()
    const { spanId, review } = await newStep(org)
    await review({ decision: 'accept' })
    const before = await dataset()
    const change = (body: object) => org.owner.patch(`/api/datasets/${before.id}/items/${spanId}`, body)
    const changed = await change({ excluded: true, split: 'golden', note: 'Why' })
    expect(changed).toMatchObject({ status: 200, body: { id: spanId, excluded: true, split: 'golden', note: 'Why' } })
    const after = await dataset()
    expect(after).toMatchObject({ items: 1, excluded: 1 })
    await change({ excluded: true, split: 'golden', note: 'Why' })
    expect((await dataset()).version).toBe(after.version)
    await review({ decision: 'correct', approvedOutput: CORRECTION })
    expect((await items()).items).toMatchObject([{ excluded: true, split: 'golden', note: 'Why', decision: 'correct' }])
    expect((await items(`version=${before.version}`)).items).toMatchObject([{ excluded: false, note: null }])
    expect((await items('excluded=true')).items).toHaveLength(1)
    expect((await items('excluded=false')).items).toEqual([])
    await change({ excluded: false })
    expect(await dataset()).toMatchObject({ items: 1, excluded: 0 })
    const { entries } = (await org.owner.get('/api/audit-log?action=dataset.change_item')).body
    expect(entries).toHaveLength(2)
  })

  it('gets an error for state keys and evaluator paths that would be lost', async ({ expect }) => {
    const { org } = await newDataset()
    const { id } = (await org.owner.put('/api/datasets', { projectSlug: 'support', stepId: STEP })).body
    const message = 'must not have a field named __proto__, prototype, constructor'
    for (const key of ['__proto__', 'prototype', 'constructor']) {
      const body = `{"items": [{"input": 1, "expected": 2, "state": {"${key}": 1}}]}`
      const { results } = (await org.owner.post(`/api/datasets/${id}/items`, body)).body
      expect(results[0]).toMatchObject({ status: 400, body: { details: [{ path: 'items.0.state', message }] } })
      const set = await org.owner.put(`/api/datasets/${id}/evaluator`, `{"paths": {"${key}": {"type": "exact"}}}`)
      expect(set).toMatchObject({ status: 400, body: { details: [{ path: 'paths', message }] } })
    }
  })

  it('cannot import an example with the id of a reviewed span', async ({ expect }) => {
    const org = await newOrg()
    const { spanId, review } = await newStep(org)
    await review({ decision: 'accept' })
    const { datasetId } = await newBench([], org)
    const sent = await org.owner.post(`/api/datasets/${datasetId}/items`, {
      items: [
        { id: spanId, input: 1, expected: 2 },
        { input: 1, expected: 2 },
      ],
    })
    expect(sent.body.results).toMatchObject([
      { status: 409, body: { details: [{ path: 'items.0.id' }] } },
      { status: 201 },
    ])
  })

  it('imports examples', async ({ expect }) => {
    const { org, items } = await newDataset()
    const { id } = (await org.owner.put('/api/datasets', { projectSlug: 'support', stepId: STEP })).body
    const example = {
      id: crypto.randomUUID(),
      input: { q: 1 },
      expected: { a: 2 },
      state: { k: [1] },
      metadata: { m: 1 },
    }
    const send = async (...examples: object[]) =>
      (await org.owner.post(`/api/datasets/${id}/items`, { items: examples })).body.results
    expect(await send(example)).toEqual([{ status: 201, body: { id: example.id } }])
    expect(await send({ ...example })).toEqual([{ status: 200, body: { id: example.id } }])
    expect(await send({ ...example, expected: 3 }, { input: 1 })).toMatchObject([{ status: 409 }, { status: 400 }])
    expect((await items()).items).toMatchObject([
      { ...example, output: null, expected: [{ a: 2 }], decision: null, spanId: null, traceId: null },
    ])
    const large = { id: crypto.randomUUID(), input: 'x'.repeat(INLINE_BYTES), expected: 'y'.repeat(INLINE_BYTES) }
    await send(large)
    expect((await items('decision=import')).items).toHaveLength(2)
    expect((await items()).items.find((item: { id: string }) => item.id === large.id)).toMatchObject({
      input: large.input,
      expected: [large.expected],
    })
  })
})
