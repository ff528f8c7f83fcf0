import { describe, it } from 'vitest'
import { type Bench, newBench, newStep, STEP } from '../support/experiments.ts'

const NONE = {
  passed: 0,
  failed: 0,
  unjudged: 0,
  error: 0,
  fixed: 0,
  regressed: 0,
  stillRight: 0,
  stillWrong: 0,
}

/** A bound of an interval, to four digits. */
const about = (expect: { closeTo: (value: number, digits: number) => unknown }, low: number, high: number) => ({
  low: expect.closeTo(low, 4),
  high: expect.closeTo(high, 4),
})

/** A reviewed span in a split. */
async function reviewed({ org, datasetId }: Bench, split: string, decision: object): Promise<string> {
  const { spanId, review } = await newStep(org, { output: { answer: 12, tag: 'a' } })
  await review(decision)
  await org.owner.patch(`/api/datasets/${datasetId}/items/${spanId}`, { split })
  return spanId
}

const CORRECTED = { decision: 'correct', approvedOutput: { answer: 24, tag: 'a' } }

describe('a report', () => {
  it('adds up the results', async ({ expect }) => {
    const bench = await newBench([
      { expected: { answer: 1, tag: 'b' }, split: 'test' },
      { expected: 'some words', split: 'train' },
    ])
    const [imported = '', text = ''] = bench.ids
    const right = await reviewed(bench, 'test', { decision: 'accept' })
    const broken = await reviewed(bench, 'test', { decision: 'accept' })
    const fixed = await reviewed(bench, 'test', { ...CORRECTED, errorType: 'reasoning_error' })
    const wrong = await reviewed(bench, 'train', { ...CORRECTED, errorType: 'reasoning_error' })
    const failed = await reviewed(bench, 'train', { ...CORRECTED, errorType: 'context_misinterpretation' })
    const { id, send, report, itemIds } = await bench.begin()
    const usage = { inputTokens: 100, outputTokens: 10 }
    await send(
      { itemId: right, output: { tag: ' A ', answer: 12 }, durationMs: 100, usage, costUsd: 0.1 },
      { itemId: broken, output: { answer: 13, tag: 'a' }, durationMs: 100, usage, costUsd: 0.2 },
      { itemId: fixed, output: { answer: 24, tag: 'a' }, durationMs: 100, usage: { ...usage, totalTokens: 150 } },
      { itemId: wrong, output: { answer: 12, tag: 'a' }, durationMs: 1000 },
      { itemId: failed, error: 'Timed out', durationMs: 5000 },
      { itemId: imported, output: { answer: 1, tag: 'b' } },
      { itemId: text, output: 'other words' },
    )
    const whole = await report()
    expect(whole).toEqual({
      id,
      projectId: bench.org.project.id,
      datasetId: bench.datasetId,
      stepId: STEP,
      version: expect.any(String),
      split: null,
      sample: null,
      itemId: null,
      seed: bench.datasetId,
      includeStale: false,
      name: null,
      metadata: {},
      promptVersionId: null,
      runner: 'client',
      model: null,
      baseline: 'recorded',
      maxCostUsd: null,
      evaluator: {},
      state: 'running',
      endReason: null,
      createdBy: expect.any(String),
      createdAt: expect.any(String),
      finishedAt: null,
      lastResultAt: expect.any(String),
      items: 7,
      pending: 0,
      removed: 0,
      counts: {
        passed: 3,
        failed: 2,
        unjudged: 1,
        error: 1,
        fixed: 1,
        regressed: 1,
        stillRight: 1,
        stillWrong: 1,
      },
      passRate: 0.5,
      interval: about(expect, 0.1876, 0.8124),
      coverage: 6 / 7,
      splits: [
        {
          split: 'test',
          counts: { ...NONE, passed: 3, failed: 1, fixed: 1, regressed: 1, stillRight: 1 },
          passRate: 0.75,
          interval: about(expect, 0.3006, 0.9544),
        },
        {
          split: 'train',
          counts: { ...NONE, failed: 1, unjudged: 1, error: 1, stillWrong: 1 },
          passRate: 0,
          interval: about(expect, 0, 0.6576),
        },
      ],
      errorTypes: [
        { errorType: 'reasoning_error', counts: { ...NONE, passed: 1, failed: 1, fixed: 1, stillWrong: 1 } },
        { errorType: 'context_misinterpretation', counts: { ...NONE, error: 1 } },
      ],
      fields: [
        { path: '', compared: 1, agreed: 0, accuracy: 0 },
        { path: 'answer', compared: 5, agreed: 3, accuracy: 0.6 },
        { path: 'tag', compared: 5, agreed: 5, accuracy: 1 },
      ],
      otherFields: null,
      usage: { inputTokens: 300, outputTokens: 30, totalTokens: 370, results: 3 },
      cost: { usd: 0.3, results: 2 },
      durationMs: { p50: expect.any(Number), p95: expect.any(Number), results: 5 },
      versionsTried: 1,
      changedSince: { excluded: 0, moved: 0 },
      repeatedInputs: 0,
      judging: { same: 0, different: 0, waiting: 1, unanswered: 0, job: null },
      agreement: {
        agreed: 0,
        of: 0,
        interval: null,
        sameAccepted: 0,
        sameRejected: 0,
        differentAccepted: 0,
        differentRejected: 0,
      },
      gate: null,
      run: null,
    })
    expect(Math.abs(whole.durationMs.p50 / 100 - 1)).toBeLessThanOrEqual(0.155)
    expect(Math.abs(whole.durationMs.p95 / 5000 - 1)).toBeLessThanOrEqual(0.155)
    expect((await itemIds('split=train')).sort()).toEqual([wrong, failed, text].sort())
    expect(await itemIds('errorType=reasoning_error&outcome=failed')).toEqual([wrong])
    await send({ itemId: failed, output: { answer: 24, tag: 'a' }, durationMs: 5000 })
    const finished = await report()
    expect(finished).toMatchObject({
      state: 'finished',
      counts: { passed: 4, error: 0, fixed: 2 },
      passRate: 4 / 6,
      coverage: 1,
      durationMs: whole.durationMs,
    })
    const { counts, passRate, interval } = finished
    expect((await bench.org.read.get('/api/experiments?projectSlug=support')).body.experiments).toMatchObject([
      { id, counts, passRate, interval },
    ])
  })

  it('is empty before the first result', async ({ expect }) => {
    const { begin } = await newBench([{ expected: 1 }])
    const { report } = await begin()
    expect(await report()).toMatchObject({
      counts: NONE,
      passRate: null,
      interval: null,
      coverage: 0,
      splits: [],
      errorTypes: [],
      fields: [],
      usage: null,
      cost: null,
      durationMs: { p50: null, p95: null, results: 0 },
      lastResultAt: null,
    })
  })

  it('lists 200 fields and adds up the others', async ({ expect }) => {
    const objects = Array.from({ length: 6 }, (_, part) =>
      Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`f${part}_${String(index).padStart(2, '0')}`, 1])),
    )
    const { ids, begin } = await newBench(objects.map(expected => ({ expected })))
    const { sendOutputs, report } = await begin()
    await sendOutputs(Object.fromEntries(ids.map((id, index) => [id, { ...objects[index], [`f${index}_00`]: 2 }])))
    const { fields, otherFields } = await report()
    expect(fields).toHaveLength(200)
    expect(fields[0]).toEqual({ path: 'f0_00', compared: 1, agreed: 0, accuracy: 0 })
    expect(otherFields).toEqual({ path: '_rest', compared: 40, agreed: 39, accuracy: 0.975 })
  })

  it('uses the evaluator that the dataset had when the experiment began', async ({ expect }) => {
    const { org, ids, begin, datasetId } = await newBench([{ expected: { total: 10, note: 'x' } }])
    const [itemId = ''] = ids
    const strict = await begin()
    const paths = { total: { type: 'number', tolerance: 0.5 }, note: { type: 'ignore' } }
    await org.owner.put(`/api/datasets/${datasetId}/evaluator`, { paths })
    const lenient = await begin()
    await strict.sendOutputs({ [itemId]: { total: 10.5 } })
    await lenient.sendOutputs({ [itemId]: { total: 10.5 } })
    expect(await strict.report()).toMatchObject({ evaluator: {}, counts: { failed: 1 } })
    expect(await lenient.report()).toMatchObject({ evaluator: { paths }, counts: { passed: 1 } })
  })

  it("treats strings in the schema's enumerations as strict", async ({ expect }) => {
    const { org, ids, begin } = await newBench([{ expected: { kind: 'very late' } }])
    const [itemId = ''] = ids
    const free = await begin()
    const outputSchema = { type: 'object', properties: { kind: { enum: ['very late', 'on time'] } } }
    await org.owner.post('/api/prompts', { projectSlug: 'support', stepId: STEP, content: 'Answer.', outputSchema })
    const strict = await begin()
    await free.sendOutputs({ [itemId]: { kind: 'on time' } })
    await strict.sendOutputs({ [itemId]: { kind: 'on time' } })
    expect(await free.report()).toMatchObject({ counts: { unjudged: 1 } })
    expect(await strict.report()).toMatchObject({ counts: { failed: 1 } })
  })

  it('says how many versions were tried on the split', async ({ expect }) => {
    const { org, begin } = await newBench([
      { expected: 1, split: 'test' },
      { expected: 1, split: 'train' },
    ])
    const prompt = (await org.owner.post('/api/prompts', { projectSlug: 'support', stepId: STEP, content: 'One.' }))
      .body
    const { id: second } = (await org.owner.post(`/api/prompts/${prompt.id}/versions`, { content: 'Two.' })).body
    const first = await begin({ split: 'test', promptVersionId: prompt.versionId })
    await begin({ split: 'test', promptVersionId: prompt.versionId })
    await begin({ split: 'test', promptVersionId: second })
    await begin({ split: 'test' })
    await begin({ promptVersionId: second })
    expect(await first.report()).toMatchObject({ versionsTried: 3 })
  })

  it('says what changed in the dataset since its version, and how many inputs repeat', async ({ expect }) => {
    const { org, ids, begin, datasetId } = await newBench([
      { input: { a: 1, b: 2 }, expected: 1, split: 'test' },
      { input: { b: 2, a: 1 }, expected: 1, split: 'train' },
      { input: 'once', expected: 1, split: 'test' },
      { input: 'twice', expected: 1, split: 'test' },
      { input: 'twice', expected: 1, split: 'golden' },
    ])
    const { report } = await begin({ split: 'test' })
    expect(await report()).toMatchObject({ items: 3, repeatedInputs: 1, changedSince: { excluded: 0, moved: 0 } })
    const change = (index: number, body: object) =>
      org.owner.patch(`/api/datasets/${datasetId}/items/${ids[index]}`, body)
    await change(0, { excluded: true })
    await change(2, { split: 'train' })
    await change(3, { split: 'train' })
    await change(3, { note: 'Moved' })
    expect(await report()).toMatchObject({ items: 3, repeatedInputs: 1, changedSince: { excluded: 1, moved: 2 } })
  })

  it('compares with another experiment as the baseline', async ({ expect }) => {
    const { ids, begin } = await newBench([1, 2, 3, 4, 5].map(expected => ({ expected })))
    const [a = '', b = '', c = '', d = '', e = ''] = ids
    const baseline = await begin()
    await baseline.sendOutputs({ [a]: 1, [b]: 2, [c]: 0, [d]: 0 })
    await baseline.finish()
    const { sendOutputs, report } = await begin({ baseline: baseline.id })
    await sendOutputs({ [a]: 1, [b]: 0, [c]: 3, [d]: 0, [e]: 5 })
    expect(await report()).toMatchObject({
      baseline: baseline.id,
      counts: { passed: 3, failed: 2, fixed: 1, regressed: 1, stillRight: 1, stillWrong: 1 },
    })
  })
})

describe('comparing two experiments', () => {
  const ten = Array.from({ length: 10 }, (_, expected) => ({ expected }))

  /** Runs an experiment whose outputs are right for some items and missing for others. */
  async function run(
    { ids, begin }: Bench,
    { right, missing = [] }: { right: number[]; missing?: number[] },
    body = {},
  ) {
    const experiment = await begin(body)
    const sent = ids.flatMap((id, index) =>
      missing.includes(index) ? [] : [[id, right.includes(index) ? index : -1] as const],
    )
    await experiment.sendOutputs(Object.fromEntries(sent))
    await experiment.finish()
    return experiment
  }

  const compare = async ({ org }: Bench, a: { id: string }, b: { id: string }, query = '') =>
    (await org.read.get(`/api/experiments/${a.id}/compare/${b.id}?${query}`)).body

  it('counts the items that passed in either experiment', async ({ expect }) => {
    const bench = await newBench(ten)
    const a = await run(bench, { right: [0, 7, 8] })
    const b = await run(bench, { right: [1, 2, 3, 4, 5, 6, 7, 8], missing: [0] })
    const differences = bench.ids
      .slice(0, 7)
      .map((itemId, index) => ({ itemId, a: index === 0 ? 'passed' : 'failed', b: index === 0 ? 'error' : 'passed' }))
      .toSorted((left, right) => (left.itemId < right.itemId ? -1 : 1))
    expect(await compare(bench, a, b)).toEqual({
      counts: { bothPassed: 2, onlyA: 1, onlyB: 6, neither: 1, unjudged: 0 },
      sameItems: true,
      sameEvaluator: true,
      mcNemar: { discordant: 7, p: expect.closeTo(0.125, 12), verdict: 'no difference' },
      differences,
      nextCursor: null,
    })
    const first = await compare(bench, a, b, 'limit=4')
    const second = await compare(bench, a, b, `limit=4&cursor=${first.nextCursor}`)
    expect([...first.differences, ...second.differences]).toEqual(differences)
    expect(second.nextCursor).toBeNull()
  })

  it('tests the difference if there are at least 6 discordant pairs', async ({ expect }) => {
    const bench = await newBench(ten)
    const a = await run(bench, { right: [] })
    const five = await run(bench, { right: [0, 1, 2, 3, 4] })
    const six = await run(bench, { right: [0, 1, 2, 3, 4, 5] })
    expect(await compare(bench, a, five)).toMatchObject({
      mcNemar: { discordant: 5, p: null, verdict: 'too few to tell' },
    })
    expect(await compare(bench, a, six)).toMatchObject({
      mcNemar: { discordant: 6, p: expect.closeTo(0.03125, 12), verdict: 'different' },
    })
    expect(await compare(bench, a, a)).toMatchObject({
      counts: { bothPassed: 0, onlyA: 0, onlyB: 0, neither: 10, unjudged: 0 },
      mcNemar: { discordant: 0, p: null, verdict: 'too few to tell' },
      differences: [],
    })
  })

  it('tests the difference only if the items and the evaluator are the same', async ({ expect }) => {
    const bench = await newBench(ten)
    const all = await run(bench, { right: [0] })
    const some = await run(bench, { right: [0] }, { sample: 5 })
    expect(await compare(bench, all, some)).toMatchObject({ sameItems: false, sameEvaluator: true, mcNemar: null })
    await bench.org.owner.put(`/api/datasets/${bench.datasetId}/evaluator`, { type: 'exact' })
    const exact = await run(bench, { right: [0] })
    expect(await compare(bench, all, exact)).toMatchObject({ sameItems: true, sameEvaluator: false, mcNemar: null })
  })

  it('leaves out unjudged items and items that lack a result', async ({ expect }) => {
    const bench = await newBench([{ expected: 'some words' }, { expected: 1 }, { expected: 2 }])
    const [text = '', number = '', pending = ''] = bench.ids
    const a = await bench.begin()
    const b = await bench.begin()
    await a.sendOutputs({ [text]: 'some words', [number]: 1, [pending]: 2 })
    await b.sendOutputs({ [text]: 'other words', [number]: 1 })
    expect(await compare(bench, a, b)).toMatchObject({
      counts: { bothPassed: 1, onlyA: 0, onlyB: 0, neither: 0, unjudged: 1 },
      differences: [{ itemId: text, a: 'passed', b: 'unjudged' }],
    })
  })

  it('needs experiments on the same dataset', async ({ expect }) => {
    const bench = await newBench(ten)
    const a = await bench.begin()
    const { id: datasetId } = (await bench.org.owner.put('/api/datasets', { projectSlug: 'support', stepId: 'other' }))
      .body
    await bench.org.owner.post(`/api/datasets/${datasetId}/items`, { items: [{ input: 1, expected: 1 }] })
    const b = await bench.begin({ datasetId })
    const path = `/api/experiments/${a.id}/compare/`
    expect((await bench.org.read.get(path + b.id)).status).toBe(422)
    expect((await bench.org.read.get(path + crypto.randomUUID())).status).toBe(404)
    expect((await bench.org.read.get(path + (await (await newBench(ten)).begin()).id)).status).toBe(403)
  })
})
