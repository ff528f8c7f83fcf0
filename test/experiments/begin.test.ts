import { describe, it } from 'vitest'
import { INLINE_BYTES, MAX_EXPERIMENT_ITEMS, MAX_EXPERIMENT_SPLITS } from '../../src/limits.ts'
import { stored } from '../support/database.ts'
import { experimentOf, newBench, newStep, STEP } from '../support/experiments.ts'
import { client, newOrg } from '../support/org.ts'

const twenty = Array.from({ length: 20 }, (_, index) => ({ expected: index, split: index < 5 ? 'test' : 'train' }))

/** Adds copies of an imported example directly to the database, because a test can't import thousands of examples. */
async function copyItems(itemId: string, copies: number): Promise<void> {
  const columns = (
    await stored.prepare("select name from pragma_table_info('dataset_entries')").all<{ name: string }>()
  ).results.map(({ name }) => name)
  const copied = columns.map(name =>
    name === 'item_id'
      ? "lower(substr(item_id, 1, 24)) || printf('%012x', n.i)"
      : name === 'sequence' || name === 'values_sequence'
        ? `${name} + n.i`
        : name,
  )
  await stored.batch([
    stored
      .prepare(
        `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?2)
       insert into dataset_entries select ${copied.join(', ')} from n cross join dataset_entries where item_id = ?1`,
      )
      .bind(itemId, copies),
    stored
      .prepare(
        `update datasets set sequence = sequence + ?2, imported = imported + ?2
       where (project_key, step_id) in (select project_key, step_id from dataset_entries where item_id = ?1)`,
      )
      .bind(itemId, copies),
  ])
}

describe('starting an experiment', () => {
  it('returns it', async ({ expect }) => {
    const { org, datasetId, post } = await newBench(twenty)
    const { version } = (await org.read.get('/api/datasets?projectSlug=support')).body.datasets[0]
    const evaluator = { paths: { total: { type: 'number', tolerance: 0.1 } } }
    await org.owner.put(`/api/datasets/${datasetId}/evaluator`, evaluator)
    const created = await post({ split: 'test', sample: 3, name: 'Try it', metadata: { branch: 'main' }, model: 'gpt' })
    expect(created).toMatchObject({ status: 201 })
    expect(created.headers.get('location')).toBe(`/api/experiments/${created.body.id}`)
    expect(created.body).toEqual({
      id: expect.any(String),
      projectId: org.project.id,
      datasetId,
      stepId: STEP,
      version,
      split: 'test',
      sample: 3,
      itemId: null,
      seed: datasetId,
      includeStale: false,
      name: 'Try it',
      metadata: { branch: 'main' },
      promptVersionId: null,
      runner: 'client',
      model: 'gpt',
      baseline: 'recorded',
      maxCostUsd: null,
      evaluator,
      state: 'running',
      endReason: null,
      createdBy: expect.any(String),
      createdAt: expect.any(String),
      finishedAt: null,
      lastResultAt: null,
      items: 3,
      pending: 3,
    })
    expect((await org.read.get(`/api/experiments?projectSlug=support`)).body).toEqual({
      experiments: [{ ...created.body, counts: null, passRate: null, interval: null }],
      nextCursor: null,
    })
  })

  it('again with the same id returns the same experiment, but a different body is a conflict', async ({ expect }) => {
    const { org, post } = await newBench(twenty)
    const id = crypto.randomUUID()
    const first = await post({ id, name: 'One' })
    expect(await post({ name: 'One', id })).toEqual({ ...first, headers: expect.anything() })
    expect(await post({ id, name: 'Two' })).toMatchObject({ status: 409 })
    const [, , third] = await Promise.all([1, 2, 3].map(() => post({ id: crypto.randomUUID() })))
    expect(third).toMatchObject({ status: 201 })
    expect((await org.read.get('/api/experiments?projectSlug=support')).body.experiments).toHaveLength(4)
    const other = await newBench(twenty)
    expect(await other.post({ id, name: 'One' })).toMatchObject({ status: 201, body: { datasetId: other.datasetId } })
    expect((await org.read.get(`/api/experiments/${id}`)).body).toMatchObject({ projectId: org.project.id })
  })

  it('with the id of an experiment in a project that is being deleted is a conflict', async ({ expect }) => {
    const { org, begin } = await newBench([{ expected: 1 }])
    const { id } = await begin()
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    const { body } = await org.owner.put('/api/datasets', { projectSlug: 'other', stepId: STEP })
    await org.owner.post(`/api/datasets/${body.id}/items`, { items: [{ input: 1, expected: 2 }] })
    await org.owner.delete(`/api/projects/${org.project.id}`, { confirm: 'support' })
    const draft = { id, projectSlug: 'other', datasetId: body.id, runner: 'client' }
    expect(await org.owner.post('/api/experiments', draft)).toMatchObject({
      status: 409,
      body: { details: [{ path: 'id' }] },
    })
  })

  it('twice at the same time creates only one', async ({ expect }) => {
    const { org, post } = await newBench(twenty)
    const id = crypto.randomUUID()
    const [first, second] = await Promise.all([post({ id }), post({ id })])
    expect([first.status, second.status]).toEqual([201, 201])
    expect(first.body).toEqual(second.body)
    expect((await org.read.get('/api/experiments?projectSlug=support')).body.experiments).toHaveLength(1)
  })

  it('needs a dataset in the project', async ({ expect }) => {
    const { org, post } = await newBench(twenty)
    const { datasetId: foreign } = await newBench(twenty)
    expect(await post({ datasetId: crypto.randomUUID() })).toMatchObject({ status: 404 })
    expect(await post({ datasetId: foreign })).toMatchObject({ status: 403 })
    await org.owner.post('/api/projects', { slug: 'sales', name: 'Sales' })
    const { id } = (await org.owner.put('/api/datasets', { projectSlug: 'sales', stepId: STEP })).body
    expect(await post({ datasetId: id })).toMatchObject({
      status: 422,
      body: { details: [{ path: 'datasetId' }] },
    })
    const { key } = (
      await org.owner.post('/api/api-keys', { name: 'Sales', projectSlug: 'sales', scopes: ['review', 'read'] })
    ).body
    const { id: own } = (await post()).body
    const sales = client({ 'x-api-key': key })
    expect((await sales.get(`/api/experiments/${own}`)).status).toBe(403)
    expect((await (await newOrg()).read.get(`/api/experiments/${own}`)).status).toBe(403)
    expect((await sales.get(`/api/experiments/${crypto.randomUUID()}`)).status).toBe(404)
  })

  it('can be limited to the items in a split', async ({ expect }) => {
    const { ids, begin } = await newBench(twenty)
    const { itemIds, report } = await begin({ split: 'test' })
    expect((await itemIds()).sort()).toEqual(ids.slice(0, 5).sort())
    expect(await report()).toMatchObject({ items: 5, split: 'test' })
  })

  it('can be limited to a sample, which is the same each time', async ({ expect }) => {
    const { ids, begin } = await newBench(twenty)
    const samples = await Promise.all([begin({ sample: 7 }), begin({ sample: 7 }), begin({ sample: 8 })])
    const [first = [], second, larger] = await Promise.all(samples.map(({ itemIds }) => itemIds()))
    expect(first).toHaveLength(7)
    expect(second).toEqual(first)
    expect(larger).toEqual(expect.arrayContaining(first))
    expect(larger).toHaveLength(8)
    expect(await (await begin({ sample: 20 })).itemIds()).toHaveLength(ids.length)
    expect(await (await begin({ sample: 500 })).report()).toMatchObject({ items: 20, sample: 500 })
  })

  it('leaves out excluded and stale items', async ({ expect }) => {
    const { org, ids, begin, datasetId } = await newBench(twenty.slice(0, 3))
    await org.owner.patch(`/api/datasets/${datasetId}/items/${ids[0]}`, { excluded: true })
    const { spanId, review, observe } = await newStep(org)
    await review({ decision: 'accept' })
    const fresh = await begin()
    expect((await fresh.itemIds()).sort()).toEqual([spanId, ids[1], ids[2]].sort())
    await observe({ span_id: spanId, data: { answer: 24 } })
    expect((await (await begin()).itemIds()).sort()).toEqual([ids[1], ids[2]].sort())
    expect((await (await begin({ includeStale: true })).itemIds()).sort()).toEqual([spanId, ids[1], ids[2]].sort())
    expect((await fresh.itemIds()).sort()).toEqual([spanId, ids[1], ids[2]].sort())
    const { version } = await fresh.report()
    expect((await (await begin({ version })).itemIds()).sort()).toEqual([spanId, ids[1], ids[2]].sort())
  })

  it('uses the items as they were at a version', async ({ expect }) => {
    const { org, ids, add, begin, post, datasetId } = await newBench(twenty.slice(0, 2))
    const { version } = (await org.read.get(`/api/datasets/${datasetId}/items`)).body
    const [added = ''] = await add([{ expected: 3 }])
    await org.owner.patch(`/api/datasets/${datasetId}/items/${ids[0]}`, { excluded: true })
    const before = await begin({ version })
    expect((await before.itemIds()).sort()).toEqual([...ids].sort())
    expect(await before.report()).toMatchObject({ version, items: 2, changedSince: { excluded: 1, moved: 0 } })
    expect((await (await begin()).itemIds()).sort()).toEqual([ids[1], added].sort())
    expect(await post({ version: 'nonsense' })).toMatchObject({ status: 400, body: { details: [{ path: 'version' }] } })
  })

  it('needs items', async ({ expect }) => {
    const { post, ids, org, datasetId } = await newBench([{ expected: 1, split: 'train' }])
    expect(await post({ split: 'test' })).toMatchObject({ status: 422 })
    await org.owner.patch(`/api/datasets/${datasetId}/items/${ids[0]}`, { excluded: true })
    expect(await post()).toMatchObject({ status: 422 })
  })

  it('accepts at most 10,000 items', { timeout: 60_000 }, async ({ expect }) => {
    const { org, ids, begin, post } = await newBench([{ expected: 1 }])
    await copyItems(ids[0] ?? '', MAX_EXPERIMENT_ITEMS - 1)
    expect(await (await begin()).report()).toMatchObject({ items: MAX_EXPERIMENT_ITEMS })
    const { review } = await newStep(org)
    await review({ decision: 'accept' })
    expect(await post()).toMatchObject({
      status: 422,
      body: { error: expect.stringContaining('would have 10001'), details: [{ path: 'sample' }] },
    })
    expect(await post({ sample: 10 })).toMatchObject({ status: 201, body: { items: 10 } })
  })

  it('accepts items from at most 100 splits', async ({ expect }) => {
    const splits = Array.from({ length: MAX_EXPERIMENT_SPLITS }, (_, index) => ({
      expected: 1,
      split: `part-${index}`,
    }))
    const { org, datasetId, post } = await newBench(splits)
    expect((await post()).status).toBe(201)
    const { results } = (
      await org.owner.post(`/api/datasets/${datasetId}/items`, { items: [{ input: 1, expected: 1 }] })
    ).body
    expect(results[0].status).toBe(201)
    expect(await post()).toMatchObject({ status: 422, body: { details: [{ path: 'split' }] } })
    expect((await post({ split: 'part-7' })).status).toBe(201)
  })

  it('needs a configured model if the model runs it', async ({ expect }) => {
    const { post } = await newBench(twenty)
    expect(await post({ runner: 'model' })).toMatchObject({ status: 409, body: { code: 'model_not_configured' } })
  })

  it('accepts a finished experiment on the same dataset as the baseline', async ({ expect }) => {
    const { org, begin, post } = await newBench(twenty)
    const running = await begin()
    expect(await post({ baseline: running.id })).toMatchObject({
      status: 422,
      body: { details: [{ path: 'baseline' }] },
    })
    await running.finish()
    expect(await post({ baseline: running.id })).toMatchObject({ status: 201, body: { baseline: running.id } })
    expect(await post({ baseline: crypto.randomUUID() })).toMatchObject({ status: 404 })
    const foreign = await (await newBench(twenty)).begin()
    await foreign.finish()
    expect(await post({ baseline: foreign.id })).toMatchObject({ status: 403 })
    const other = (await org.owner.put('/api/datasets', { projectSlug: 'support', stepId: 'other' })).body
    const items = [{ id: crypto.randomUUID(), input: 1, expected: 1 }]
    await org.owner.post(`/api/datasets/${other.id}/items`, { items })
    expect(await post({ datasetId: other.id, baseline: running.id })).toMatchObject({ status: 422 })
    expect(await post({ baseline: 'nothing' })).toMatchObject({ status: 400 })
  })

  it("accepts a version of the step's prompt", async ({ expect }) => {
    const { org, post } = await newBench(twenty)
    const prompt = (await org.owner.post('/api/prompts', { projectSlug: 'support', stepId: STEP, content: 'Answer.' }))
      .body
    const other = (await org.owner.post('/api/prompts', { projectSlug: 'support', stepId: 'other', content: 'Go.' }))
      .body
    expect(await post({ promptVersionId: prompt.versionId })).toMatchObject({
      status: 201,
      body: { promptVersionId: prompt.versionId },
    })
    expect(await post({ promptVersionId: other.versionId })).toMatchObject({ status: 422 })
    expect(await post({ promptVersionId: crypto.randomUUID() })).toMatchObject({ status: 422 })
  })

  it('needs the review scope', async ({ expect }) => {
    const { org, draft } = await newBench(twenty)
    const reader = client({ 'x-api-key': await org.keyFor({ scopes: ['read', 'ingest', 'manage'] }) })
    expect((await reader.post('/api/experiments', draft())).status).toBe(403)
  })
})

describe('the experiments of a project', () => {
  it('are listed newest first, page by page, and can be filtered', async ({ expect }) => {
    const { org, begin, datasetId } = await newBench(twenty)
    const prompt = (await org.owner.post('/api/prompts', { projectSlug: 'support', stepId: STEP, content: 'Answer.' }))
      .body
    const finished = await begin({ promptVersionId: prompt.versionId })
    await finished.finish()
    const cancelled = await begin()
    await cancelled.cancel()
    const failed = await begin()
    await stored.prepare('update experiments set active_at = active_at - 86400001 where id = ?').bind(failed.id).run()
    const running = await begin()
    const list = async (query: string) =>
      (await org.read.get(`/api/experiments?projectSlug=support&${query}`)).body.experiments.map(
        ({ id }: { id: string }) => id,
      )
    expect(await list('')).toEqual([running.id, failed.id, cancelled.id, finished.id])
    expect(await list('state=running')).toEqual([running.id])
    expect(await list('state=failed')).toEqual([failed.id])
    expect(await list('state=cancelled')).toEqual([cancelled.id])
    expect(await list(`state=finished&datasetId=${datasetId}`)).toEqual([finished.id])
    expect(await list(`promptVersionId=${prompt.versionId}`)).toEqual([finished.id])
    const first = (await org.read.get('/api/experiments?projectSlug=support&limit=3')).body
    expect(first.experiments).toHaveLength(3)
    expect(await list(`limit=3&cursor=${first.nextCursor}`)).toEqual([finished.id])
    const other = (await org.owner.put('/api/datasets', { projectSlug: 'support', stepId: 'other' })).body
    expect(await list(`datasetId=${other.id}`)).toEqual([])
  })

  it('are not listed for a dataset in another project', async ({ expect }) => {
    const { org, begin } = await newBench([{ expected: 1 }])
    await begin()
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    const { id } = (await org.owner.put('/api/datasets', { projectSlug: 'other', stepId: STEP })).body
    expect(await org.read.get(`/api/experiments?projectSlug=support&datasetId=${id}`)).toMatchObject({
      status: 422,
      body: { details: [{ path: 'datasetId' }] },
    })
  })
})

describe('an experiment on a step that is renamed', () => {
  it('continues under the new name', async ({ expect }) => {
    const { org, ids, begin, datasetId } = await newBench([{ expected: 1 }, { expected: 2 }])
    const [first = '', second = ''] = ids
    const { id, sendOutputs, report, itemIds, review } = await begin()
    await sendOutputs({ [first]: 1 })
    const rename = (names: object) => org.owner.put(`/api/projects/${org.project.id}/step-names`, { names })
    expect((await rename({ [STEP]: 'answer' })).status).toBe(200)
    const [dataset] = (await org.read.get('/api/datasets?projectSlug=support')).body.datasets
    expect(dataset.id).not.toBe(datasetId)
    for (const known of [dataset.id, datasetId]) {
      const list = (await org.read.get(`/api/experiments?projectSlug=support&datasetId=${known}`)).body.experiments
      expect(list).toMatchObject([{ id, stepId: 'answer' }])
    }
    expect((await itemIds()).sort()).toEqual([...ids].sort())
    expect(await sendOutputs({ [second]: 3 })).toEqual([201])
    expect((await review(second, 'accept')).status).toBe(200)
    expect(await report()).toMatchObject({ state: 'finished', stepId: 'answer', counts: { passed: 2 } })
    const later = (
      await org.owner.post('/api/experiments', { projectSlug: 'support', datasetId, runner: 'client', baseline: id })
    ).body
    expect(later).toMatchObject({ items: 2, stepId: 'answer' })
    expect((await rename({})).status).toBe(200)
    expect(await report()).toMatchObject({ stepId: STEP, items: 2 })
  })
})

describe('an experiment whose items leave its dataset when a rename is undone', () => {
  it('cannot be finished while items are pending, because they would not become errors', async ({ expect }) => {
    const { org, ids, add } = await newBench([{ expected: 1 }])
    const rename = (names: object) => org.owner.put(`/api/projects/${org.project.id}/step-names`, { names })
    const { id: joined } = (await org.owner.put('/api/datasets', { projectSlug: 'support', stepId: 'answer' })).body
    await org.owner.post(`/api/datasets/${joined}/items`, { items: [{ input: 1, expected: 2 }] })
    await add([{ expected: 3 }])
    await rename({ [STEP]: 'answer' })
    const draft = { projectSlug: 'support', datasetId: joined, runner: 'client' }
    const run = experimentOf(org, (await org.owner.post('/api/experiments', draft)).body.id)
    await run.sendOutputs({ [ids[0] ?? '']: 1 })
    await rename({})
    expect((await run.finish()).status).toBe(409)
    expect(await run.report()).toMatchObject({ state: 'running', items: 3, removed: 0, counts: { error: 0 } })
    expect((await run.cancel()).status).toBe(200)
  })
})

describe("an experiment's items", () => {
  it('have the values from when the experiment began, and the candidate’s output', async ({ expect }) => {
    const { org, begin } = await newBench()
    const { spanId, id, review, observe } = await newStep(org, { output: { total: 12, note: 'So it is.' } })
    await observe({ span_id: spanId, type: 'state', key: 'chunks', data: ['24'] })
    await review({
      decision: 'correct',
      approvedOutput: { total: 24, note: 'So it is.' },
      errorType: 'reasoning_error',
    })
    const { items, send } = await begin()
    const pending = (await items()).items
    expect(pending).toEqual([
      {
        id: spanId,
        spanId,
        traceId: id,
        decision: 'correct',
        by: expect.any(String),
        at: expect.any(String),
        errorType: 'reasoning_error',
        promptVersionId: null,
        split: expect.any(String),
        stale: false,
        excluded: false,
        note: null,
        input: { question: expect.any(String) },
        state: { chunks: ['24'] },
        expected: [{ total: 24, note: 'So it is.' }],
        metadata: {},
        recordedOutput: { total: 12, note: 'So it is.' },
        output: null,
        difference: [],
        share: null,
        outcome: null,
        change: null,
        error: null,
        durationMs: null,
        usage: null,
        costUsd: null,
        resultTraceId: null,
        review: null,
        judgment: null,
        judgmentError: null,
        truncated: [],
      },
    ])
    await send({
      itemId: spanId,
      output: { total: 25, note: 'so  it is.' },
      durationMs: 12,
      usage: { inputTokens: 3, outputTokens: 4 },
      costUsd: 0.01,
      traceId: 'trace_of_mine',
    })
    expect((await items()).items).toEqual([
      {
        ...pending[0],
        output: { total: 25, note: 'so  it is.' },
        difference: [{ path: 'total', expected: 24, actual: 25 }],
        share: 0.5,
        outcome: 'failed',
        change: 'stillWrong',
        durationMs: 12,
        usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 },
        costUsd: 0.01,
        resultTraceId: 'trace_of_mine',
      },
    ])
  })

  it('may have values in R2', async ({ expect }) => {
    const text = 'x y '.repeat(INLINE_BYTES / 4)
    const { ids, begin } = await newBench([{ input: text, expected: { text }, state: { long: text } }])
    const { items, sendOutputs } = await begin()
    expect(await sendOutputs({ [ids[0] ?? '']: { text: `${text}z` } })).toEqual([201])
    expect((await items()).items).toMatchObject([
      { input: text, state: { long: text }, expected: [{ text }], output: { text: `${text}z` }, outcome: 'unjudged' },
    ])
  })

  it('can be filtered, and are listed page by page', async ({ expect }) => {
    const { org, ids, begin } = await newBench([{ expected: 1 }, { expected: 2 }])
    const [right = '', pending = ''] = ids
    const steps = []
    for (const decision of ['accept', 'correct', 'accept', 'correct'] as const) {
      const step = await newStep(org)
      await step.review(decision === 'accept' ? { decision } : { decision, approvedOutput: { answer: 24 } })
      steps.push(step.spanId)
    }
    const [stillRight = '', fixed = '', regressed = '', stillWrong = ''] = steps
    const { sendOutputs, send, itemIds, items, finish } = await begin()
    await sendOutputs({
      [right]: 1,
      [stillRight]: { answer: 12 },
      [fixed]: { answer: 24 },
      [regressed]: { answer: 13 },
      [stillWrong]: { answer: 12 },
    })
    expect(await itemIds('change=fixed')).toEqual([fixed])
    expect(await itemIds('change=regressed')).toEqual([regressed])
    expect(await itemIds('change=stillRight')).toEqual([stillRight])
    expect(await itemIds('change=stillWrong')).toEqual([stillWrong])
    expect((await itemIds('outcome=passed')).sort()).toEqual([right, stillRight, fixed].sort())
    expect((await itemIds('outcome=failed&change=regressed')).sort()).toEqual([regressed])
    expect(await itemIds('pending=true')).toEqual([pending])
    expect(await itemIds('pending=false')).toHaveLength(5)
    expect(await itemIds(`itemId=${fixed}`)).toEqual([fixed])
    expect(await itemIds(`itemId=${fixed}&outcome=failed`)).toEqual([])
    expect(await itemIds(`itemId=${crypto.randomUUID()}`)).toEqual([])
    const all = await itemIds()
    const paged = []
    for (let cursor = ''; ; ) {
      const page = await items(`limit=2${cursor}`)
      paged.push(...page.items.map(({ id }: { id: string }) => id))
      if (page.nextCursor === null) break
      cursor = `&cursor=${page.nextCursor}`
    }
    expect(paged).toEqual(all)
    await send({ itemId: pending, error: 'It broke' })
    expect(await itemIds('outcome=error')).toEqual([pending])
    await finish()
    expect(await itemIds('outcome=error')).toEqual([pending])
    expect(await itemIds('pending=true')).toEqual([])
  })

  it('are read 5,000 at a time', { timeout: 60_000 }, async ({ expect }) => {
    const { ids, begin } = await newBench([{ expected: 1 }])
    const [first = ''] = ids
    await copyItems(first, 7000)
    const { items, itemIds, sendOutputs } = await begin()
    const [last = ''] = (await items('limit=200')).items.map(({ id }: { id: string }) => id)
    await sendOutputs({ [last]: 1 })
    const page = await items('outcome=passed')
    expect(page.items).toHaveLength(1)
    let { nextCursor } = page
    for (let pages = 1; nextCursor !== null; pages++) {
      expect(pages).toBeLessThan(3)
      ;({ nextCursor } = await items(`outcome=passed&cursor=${nextCursor}`))
    }
    expect(await itemIds('outcome=failed&limit=200')).toEqual([])
  })

  it('are visible only to callers who may read the experiment', async ({ expect }) => {
    const { org, begin } = await newBench(twenty)
    const { id } = await begin()
    const other = experimentOf(await newOrg(), id)
    expect((await org.read.get(`/api/experiments/${crypto.randomUUID()}/items`)).status).toBe(404)
    expect((await other.send()).status).toBe(403)
  })
})
