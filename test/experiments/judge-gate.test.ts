import { env } from 'cloudflare:workers'
import { describe, it } from 'vitest'
import type { Job } from '../../src/env.ts'
import { runJob } from '../../src/jobs/consumer.ts'
import { storeOf, withMessages } from '../support/attribution.ts'
import { newBench, newStep, purgeTrace, STEP } from '../support/experiments.ts'
import { aProvider } from '../support/model.ts'
import type { Reply } from '../support/model-wire.ts'
import { newOrg } from '../support/org.ts'

const EXPECTED = 'The warranty is two years.'

/** A model that says that outputs with "the same words" in them are the same, and that all others are different. */
const JUDGE: readonly Reply[] = [
  { when: 'the same words', answer: { reason: 'Nothing differs.', same: true } },
  { answer: { reason: 'Another term.', same: false } },
]
const SAME = 'These are not the same words.'
const OTHER = 'It is one year.'

/** A tenant with a gate, a draft of its step's prompt, and a model. Production was right only about the first item. */
async function newGated(gate: object = { minItems: 1, allowJudge: true }) {
  const org = await newOrg()
  const right = await newStep(org, { output: EXPECTED })
  const wrong = await newStep(org, { output: 'I do not know it.' })
  await right.review({ decision: 'accept' })
  await wrong.review({ decision: 'correct', approvedOutput: EXPECTED })
  const bench = await newBench([{ expected: EXPECTED }, { expected: EXPECTED }], org)
  for (const id of [right.spanId, wrong.spanId, ...bench.ids]) {
    await org.owner.patch(`/api/datasets/${bench.datasetId}/items/${id}`, { split: 'test' })
  }
  const created = await org.owner.post('/api/prompts', { projectSlug: 'support', stepId: STEP, content: 'First' })
  const path = `/api/prompts/${created.body.id}`
  const { id: versionId } = (await org.owner.post(`${path}/versions`, { content: 'Next' })).body
  const gatePath = `/api/projects/${org.project.id}/gates/${STEP}`
  await org.owner.put(gatePath, gate)
  const { bindings, modelRequests } = await aProvider(JUDGE)
  const messages = withMessages(bindings)
  const withModel = org.clientOf(org.ownerKey, messages.bindings)
  const { organization } = await storeOf(org)
  /** Sends the outputs for the items in this order: the right one, the wrong one, and the two imported ones. */
  const prove = async (outputs: readonly string[], fields: object = {}, by = withModel) => {
    const experiment = await bench.begin({ promptVersionId: versionId, ...fields })
    const ids = [right.spanId, wrong.spanId, ...bench.ids]
    const results = ids.map((itemId, index) => ({ itemId, output: outputs[index % outputs.length] }))
    await by.post(`${experiment.path}/results`, { results })
    const message: Job = {
      kind: 'model_job',
      organizationKey: organization.key,
      jobKind: 'judge_results',
      subject: experiment.id,
    }
    return { ...experiment, ids, message, work: () => runJob(message, messages.bindings) }
  }
  return {
    ...bench,
    right,
    wrong,
    sent: messages.sent,
    withModel,
    gatePath,
    versionId,
    modelRequests,
    prove,
    state: async () => (await org.read.get(`${gatePath}?versionId=${versionId}`)).body,
    setGate: (fields: object) => org.owner.put(gatePath, fields),
    activate: () => org.owner.put(`${path}/active-version`, { versionId }),
    agreement: async (query = '') =>
      (await org.read.get(`/api/judgments?projectSlug=support&stepId=${STEP}${query}`)).body,
  }
}

const unmetOf = ({ unmet }: { unmet: { condition: string; actual: number }[] }) =>
  Object.fromEntries(unmet.map(({ condition, actual }) => [condition, actual]))

const STRICT = { minItems: 10, minPassRate: 1, maxRegressed: 0, maxUnjudged: 0, allowJudge: true }

describe('a gate that lets a model judge', () => {
  it('asks the model automatically when an experiment on the step finishes, and reports what is pending', async ({
    expect,
  }) => {
    const { prove, state, sent } = await newGated({ ...STRICT, maxRegressed: 0 })
    expect((await state()).judging).toBeNull()
    const experiment = await prove([SAME, SAME, SAME, OTHER])
    expect(sent).toEqual([experiment.message])
    const pending = await state()
    expect(pending.judging).toMatchObject({ same: 0, different: 0, waiting: 4, job: { status: 'pending' } })
    expect(unmetOf(pending)).toMatchObject({ minItems: 0, maxUnjudged: 4 })
    await experiment.work()
    const judged = await state()
    expect(judged).toMatchObject({
      experimentId: experiment.id,
      gate: { allowJudge: true },
      judging: { same: 3, different: 1, waiting: 0, job: { status: 'done' } },
    })
    expect(unmetOf(judged)).toEqual({ minItems: 4, minPassRate: 0.75 })
    expect((await experiment.report()).gate).toEqual(judged)
    expect(await experiment.report()).toMatchObject({ counts: { passed: 0, failed: 0, unjudged: 4 }, passRate: null })
  })

  it.for<[string, object, object]>([
    ['a gate that does not allow it', { minItems: 1 }, {}],
    ['a named version of the dataset', { minItems: 1, allowJudge: true }, { version: true }],
    ['a sample', { minItems: 1, allowJudge: true }, { sample: 4 }],
    ['no prompt version', { minItems: 1, allowJudge: true }, { promptVersionId: undefined }],
    ['another split', { minItems: 1, allowJudge: true, split: 'train' }, { split: 'test' }],
  ])('does not ask about an experiment with %s', async ([, gate, fields], { expect }) => {
    const { prove, org, datasetId } = await newGated(gate)
    const { version } = (await org.read.get(`/api/datasets/${datasetId}/items`)).body
    const experiment = await prove([SAME], 'version' in fields ? { version } : fields)
    expect(await experiment.report()).toMatchObject({ state: 'finished', judging: { waiting: 4, job: null } })
  })

  it('does not ask about a canceled experiment', async ({ expect }) => {
    const { begin, versionId, right, withModel } = await newGated()
    const experiment = await begin({ promptVersionId: versionId })
    await experiment.sendOutputs({ [right.spanId]: SAME })
    await withModel.post(`${experiment.path}/judgments`)
    expect((await experiment.report()).judging.job).toMatchObject({ status: 'pending' })
    await experiment.cancel()
    expect((await experiment.report()).judging).toMatchObject({ waiting: 1, job: { status: 'cancelled' } })
  })

  it('counts a different output as regressed only if production was right', async ({ expect }) => {
    const { prove, state } = await newGated(STRICT)
    const experiment = await prove([OTHER, OTHER, SAME, SAME])
    await experiment.work()
    expect(unmetOf(await state())).toEqual({ minItems: 4, minPassRate: 0.5, maxRegressed: 1 })
    expect((await experiment.items('change=regressed')).items).toEqual([])
  })

  it("gives people's decisions precedence over the model's judgments", async ({ expect }) => {
    const { prove, state, activate } = await newGated({ ...STRICT, minItems: 4 })
    const experiment = await prove([OTHER, SAME, SAME, SAME])
    await experiment.work()
    const [first = '', second = ''] = experiment.ids
    expect(unmetOf(await state())).toEqual({ minPassRate: 0.75, maxRegressed: 1 })
    const refused = await activate()
    expect(refused).toMatchObject({ status: 409, body: { code: 'gate_not_met' } })
    await experiment.review(first, 'accept')
    expect(await state()).toMatchObject({ met: true, unmet: [], judging: { same: 3, different: 0, waiting: 0 } })
    await experiment.review(second, 'reject')
    expect(unmetOf(await state())).toEqual({ minPassRate: 0.75 })
    await experiment.review(second, 'accept')
    const [item] = (await experiment.items(`itemId=${first}`)).items
    expect(item).toMatchObject({ outcome: 'passed', change: 'stillRight', judgment: { same: false } })
    expect((await activate()).status).toBe(200)
  })

  it('follows changes to allowJudge without a new experiment', async ({ expect }) => {
    const { prove, state, setGate, withModel } = await newGated({ minItems: 4, maxUnjudged: 0 })
    const experiment = await prove([SAME])
    expect(await state()).toMatchObject({ met: false, judging: null, gate: { allowJudge: false } })
    await setGate({ minItems: 4, maxUnjudged: 0, allowJudge: true })
    expect(await state()).toMatchObject({ met: false, judging: { waiting: 4, job: null } })
    expect((await withModel.post(`${experiment.path}/judgments`)).status).toBe(202)
    await experiment.work()
    expect(await state()).toMatchObject({ met: true })
    await setGate({ minItems: 4, maxUnjudged: 0 })
    expect(unmetOf(await state())).toEqual({ minItems: 0, maxUnjudged: 4 })
  })

  it('keeps its frozen counts when a judged trace is deleted, but loses the judgment', async ({ expect }) => {
    const { prove, state, org, right, agreement } = await newGated(STRICT)
    const experiment = await prove([SAME])
    await experiment.work()
    await experiment.review(right.spanId, 'accept')
    const before = await state()
    expect((await agreement()).agreement.of).toBe(1)
    await purgeTrace(org, right.id)
    expect(await state()).toEqual(before)
    expect((await experiment.report()).agreement.of).toBe(0)
    expect(await agreement()).toMatchObject({ agreement: { of: 0, interval: null }, judgments: [] })
    const stored =
      'select count(*) as n from result_judgments judged join experiments e on e.key = judged.experiment_key'
    expect(await env.DB.prepare(`${stored} where e.id = ?`).bind(experiment.id).first()).toEqual({ n: 3 })
  })
})

describe('the agreement of a model with people', () => {
  it('counts the outputs that both the model and people judged, and lists them', async ({ expect }) => {
    const { prove, agreement, org } = await newGated()
    const one = await prove([SAME, SAME, OTHER, OTHER])
    const two = await prove([SAME, SAME, OTHER, OTHER])
    for (const experiment of [one, two]) await experiment.work()
    const [a = '', b = '', c = '', d = ''] = one.ids
    await one.review(a, 'accept')
    await one.review(b, 'reject')
    await one.review(c, 'accept')
    await one.review(d, 'reject')
    await two.review(d, 'reject')
    const counts = { sameAccepted: 1, sameRejected: 1, differentAccepted: 1, differentRejected: 1 }
    expect((await one.report()).agreement).toEqual({
      agreed: 2,
      of: 4,
      interval: { low: expect.closeTo(0.15, 2), high: expect.closeTo(0.85, 2) },
      ...counts,
    })
    expect((await one.items('judgment=same&decision=reject')).items.map(({ id }: { id: string }) => id)).toEqual([b])
    const all = await agreement()
    expect(all.agreement).toMatchObject({ agreed: 3, of: 5, ...counts, differentRejected: 2 })
    expect(all.judgments.map(({ experimentId, itemId }: Place) => [experimentId, itemId])).toEqual([
      [two.id, d],
      ...[a, b, c, d].toSorted().map(id => [one.id, id]),
    ])
    const listed = await agreement('&judgment=different&decision=reject')
    expect(listed.agreement).toEqual(all.agreement)
    expect(listed.judgments).toMatchObject([
      { experimentId: two.id, judgment: { same: false, reason: 'Another term.' }, review: { decision: 'reject' } },
      { experimentId: one.id, itemId: d },
    ])
    const paged: Place[] = []
    for (let cursor = ''; ; ) {
      const page = await agreement(`&limit=2${cursor}`)
      paged.push(...page.judgments)
      if (page.nextCursor === null) break
      cursor = `&cursor=${page.nextCursor}`
    }
    expect(paged).toEqual(all.judgments)
    await one.review(b, 'accept')
    expect((await agreement()).agreement).toMatchObject({ agreed: 4, of: 5, sameAccepted: 2, sameRejected: 0 })
    const other = await newOrg()
    const none = await other.read.get(`/api/judgments?projectSlug=support&stepId=${STEP}`)
    expect(none.body).toMatchObject({ agreement: { of: 0 }, judgments: [] })
    expect((await other.read.get(`/api/judgments?projectId=${org.project.id}&stepId=${STEP}`)).status).toBe(403)
  })
})

interface Place {
  experimentId: string
  itemId: string
}
