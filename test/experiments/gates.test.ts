import { describe, it } from 'vitest'
import { DAY_MS } from '../../src/limits.ts'
import { wrapBindings } from '../support/bindings.ts'
import { stored } from '../support/database.ts'
import { newBench, newStep, STEP } from '../support/experiments.ts'
import { client, type Org } from '../support/org.ts'

/** A candidate's result for an item. */
type Fate = 'passed' | 'failed' | 'unjudged' | 'error'

const EXPECTED = 'The warranty is two years.'
const result = (fate: Fate) =>
  fate === 'error'
    ? { error: 'timed out' }
    : { output: { passed: EXPECTED, failed: '', unjudged: 'You have a warranty of two years.' }[fate] }

/** A tenant with a prompt whose first version is active, a draft, and a dataset of examples for testing. */
async function newProof(items = 4) {
  const bench = await newBench(Array.from({ length: items }, () => ({ expected: EXPECTED, split: 'test' })))
  const { org } = bench
  const created = await org.owner.post('/api/prompts', { projectSlug: 'support', stepId: STEP, content: 'First' })
  const prompt = { id: String(created.body.id), firstId: String(created.body.versionId) }
  const path = `/api/prompts/${prompt.id}`
  const gatePath = `/api/projects/${org.project.id}/gates/${STEP}`
  const draft = async (): Promise<string> => (await org.owner.post(`${path}/versions`, { content: 'Next' })).body.id
  const versionId = await draft()
  return {
    ...bench,
    prompt,
    path,
    gatePath,
    versionId,
    draft,
    setGate: async (gate: object) => {
      const set = await org.owner.put(gatePath, { minItems: 1, ...gate })
      if (set.status !== 200) throw new Error(JSON.stringify(set.body))
      return set.body
    },
    /** Runs a version on the dataset. If there are more items than fates, the fates repeat. */
    prove: async (fates: Fate[], fields: object = {}) => {
      const run = await bench.begin({ promptVersionId: versionId, ...fields })
      const ids = (await run.itemIds()).toSorted()
      await run.send(...ids.map((itemId, index) => ({ itemId, ...result(fates[index % fates.length] ?? 'error') })))
      // An item with an error is still pending.
      await run.finish()
      return run
    },
    state: async (id = versionId) => (await org.read.get(`${gatePath}?versionId=${id}`)).body,
    activate: (fields: object = {}, by = org.owner) => by.put(`${path}/active-version`, { versionId, ...fields }),
    active: async (): Promise<string> =>
      (await org.read.get(`/api/prompts?projectSlug=support&stepId=${STEP}`)).body.prompts[0].versionId,
    versions: async (): Promise<{ id: string }[]> => (await org.read.get(path)).body.versions,
    audited: async (action: string) =>
      (await org.owner.get(`/api/audit-log?action=${action}`)).body.entries.map(
        ({ beforeId, afterId, reason }: Record<string, unknown>) => ({ beforeId, afterId, reason }),
      ),
  }
}

/** Moves the end of an experiment into the past. */
const age = (id: string, days: number) =>
  stored
    .prepare('update experiments set finished_at = finished_at - ? where id = ?')
    .bind(days * DAY_MS, id)
    .run()

describe('a gate', () => {
  it('is set, replaced, and deleted, and each change is audited once', async ({ expect }) => {
    const { org, path, gatePath, audited } = await newProof(0)
    expect((await org.read.get(gatePath)).status).toBe(404)
    expect((await org.read.get(path)).body.gate).toBeNull()
    expect((await org.owner.delete(gatePath)).status).toBe(404)
    const set = await org.owner.put(gatePath, { minItems: 3 })
    expect(set).toMatchObject({
      status: 200,
      body: {
        stepId: STEP,
        minItems: 3,
        minPassRate: null,
        maxRegressed: null,
        maxUnjudged: null,
        maxAgeDays: null,
        split: 'test',
        allowJudge: false,
        autoRollback: false,
      },
    })
    expect((await org.owner.put(gatePath, { minItems: 3, allowJudge: false, autoRollback: false })).body).toEqual(
      set.body,
    )
    const conditions = {
      minItems: 5,
      minPassRate: 0.9,
      maxRegressed: 1,
      maxUnjudged: 2,
      maxAgeDays: 0.5,
      split: 'hard',
      allowJudge: true,
    }
    const replaced = await org.owner.put(gatePath, conditions)
    expect(replaced.body).toMatchObject({ id: set.body.id, ...conditions })
    expect((await org.read.get(gatePath)).body.gate).toEqual(replaced.body)
    expect((await org.read.get(path)).body.gate).toEqual(replaced.body)
    expect(await org.owner.delete(gatePath)).toMatchObject({ status: 200, body: { stepId: STEP } })
    expect((await org.read.get(gatePath)).status).toBe(404)
    const { id } = set.body
    expect(await audited('gate.set')).toEqual(Array(2).fill({ beforeId: null, afterId: id, reason: null }))
    expect(await audited('gate.delete')).toEqual([{ beforeId: id, afterId: null, reason: null }])
  })

  it.for<[string, object, string]>([
    ['no minItems', { minItems: undefined }, 'minItems'],
    ['no items', { minItems: 0 }, 'minItems'],
    ['half an item', { minItems: 1.5 }, 'minItems'],
    ['a pass rate over 1', { minPassRate: 1.01 }, 'minPassRate'],
    ['a negative number', { maxRegressed: -1 }, 'maxRegressed'],
    ['an invalid split', { split: 'Test' }, 'split'],
    ['a model judge in words', { allowJudge: 'yes' }, 'allowJudge'],
    ['an automatic rollback that is neither on nor off', { autoRollback: null }, 'autoRollback'],
    ['a typo', { maxUnjudge: 1 }, 'maxUnjudge'],
  ])('is rejected with %s', async ([, fields, path], { expect }) => {
    const { org, gatePath } = await newProof(0)
    const refused = await org.owner.put(gatePath, { minItems: 1, ...fields })
    expect(refused).toMatchObject({ status: 400, body: { details: [{ path }] } })
    expect((await org.read.get(gatePath)).status).toBe(404)
  })

  it("is found under a step's name with any characters", async ({ expect }) => {
    const { org } = await newProof(0)
    const stepId = 'a/b ?#%25 ü😀'
    const path = `/api/projects/${org.project.id}/gates/${encodeURIComponent(stepId)}`
    expect((await org.owner.put(path, { minItems: 1 })).body.stepId).toBe(stepId)
    expect((await org.read.get(path)).body).toMatchObject({ gate: { stepId }, versionId: null, met: false })
  })

  it('can be changed only by people, but read with any key that has `read`', async ({ expect }) => {
    const { org, gatePath, setGate } = await newProof(0)
    await setGate({})
    for (const actsAs of ['agent', 'pipeline']) {
      const key = org.clientOf(await org.keyFor({ actsAs }))
      for (const refused of [await key.put(gatePath, { minItems: 2 }), await key.delete(gatePath)]) {
        expect(refused).toMatchObject({ status: 403, body: { code: 'person_required' } })
      }
      expect((await key.get(gatePath)).body.gate.minItems).toBe(1)
    }
    const reviewer = org.clientOf(await org.keyFor({ scopes: ['read', 'review'] }))
    expect((await reviewer.put(gatePath, { minItems: 2 })).status).toBe(403)
    expect((await reviewer.delete(gatePath)).status).toBe(403)
    expect((await reviewer.get(gatePath)).status).toBe(200)
  })

  it("applies to the active version by default, and outlives the step's prompt", async ({ expect }) => {
    const { org, path, prompt, gatePath, setGate, prove, versionId } = await newProof()
    await setGate({ minItems: 4 })
    await prove(['passed'], { promptVersionId: prompt.firstId })
    expect((await org.read.get(gatePath)).body).toMatchObject({ versionId: prompt.firstId, met: true })
    await org.owner.delete(path)
    expect((await org.read.get(gatePath)).body).toMatchObject({
      gate: { minItems: 4 },
      versionId: null,
      experimentId: null,
      met: false,
      unmet: [{ condition: 'minItems', required: 4, actual: 0 }],
    })
    expect((await org.read.get(`${gatePath}?versionId=${prompt.firstId}`)).body.met).toBe(true)
    expect((await org.read.get(`${gatePath}?versionId=${versionId}`)).body.met).toBe(false)
  })

  it('is deleted with its project', async ({ expect }) => {
    const { org, setGate } = await newProof(0)
    await setGate({})
    const project = { confirm: org.project.slug }
    await org.owner.delete(`/api/projects/${org.project.id}`, project)
    expect((await org.owner.get(`/api/projects/${org.project.id}/gates/${STEP}`)).status).toBe(404)
    expect((await org.owner.put(`/api/projects/${org.project.id}/gates/${STEP}`, { minItems: 1 })).status).toBe(404)
  })
})

describe('a version meets a gate', () => {
  it.for<[string, object, Fate[], { required: number; actual: number } | null]>([
    ['minItems', { minItems: 4 }, ['passed', 'passed', 'failed', 'error'], null],
    ['minItems', { minItems: 4 }, ['passed', 'passed', 'passed', 'unjudged'], { required: 4, actual: 3 }],
    ['minPassRate', { minPassRate: 0.5 }, ['passed', 'passed', 'failed', 'error'], null],
    ['minPassRate', { minPassRate: 0.5 }, ['passed', 'failed', 'error', 'unjudged'], { required: 0.5, actual: 1 / 3 }],
    ['maxUnjudged', { maxUnjudged: 1 }, ['passed', 'passed', 'passed', 'unjudged'], null],
    ['maxUnjudged', { maxUnjudged: 1 }, ['passed', 'passed', 'unjudged', 'unjudged'], { required: 1, actual: 2 }],
  ])('by %s: %j with %j', async ([condition, gate, fates, figures], { expect }) => {
    const { setGate, prove, state, activate, active, versionId, prompt } = await newProof()
    await setGate(gate)
    const { id, report } = await prove(fates)
    const unmet = figures ? [{ condition, ...figures }] : []
    const expected = { gate: { stepId: STEP }, versionId, experimentId: id, met: !figures, unmet }
    expect(await state()).toMatchObject(expected)
    expect((await report()).gate).toEqual(await state())
    const activated = await activate()
    if (figures) {
      const { required, actual } = figures
      const message = expect.stringMatching(`${required}, but is ${actual}$`)
      expect(activated).toMatchObject({
        status: 409,
        body: { code: 'gate_not_met', details: [{ path: condition, message }] },
      })
    } else expect(activated).toMatchObject({ status: 200, body: { versionId } })
    expect(await active()).toBe(figures ? prompt.firstId : versionId)
  })

  it.for([0, 1])('by maxRegressed, with 1 regression and at most %i', async (maxRegressed, { expect }) => {
    const { org, setGate, begin, state, versionId } = await newProof(0)
    const steps = [await newStep(org), await newStep(org)]
    for (const { review } of steps) await review({ decision: 'accept' })
    for (const { spanId } of steps) await toTest(org, spanId)
    await setGate({ maxRegressed })
    const run = await begin({ promptVersionId: versionId })
    const [right, wrong] = await run.itemIds()
    await run.sendOutputs({ [right ?? '']: { answer: 12 }, [wrong ?? '']: { answer: 13 } })
    expect(await state()).toMatchObject(
      maxRegressed === 0
        ? { met: false, unmet: [{ condition: 'maxRegressed', required: 0, actual: 1 }] }
        : { met: true, unmet: [] },
    )
  })

  it('by maxAgeDays', async ({ expect }) => {
    const { setGate, prove, state, activate } = await newProof(1)
    await setGate({ maxAgeDays: 2 })
    const { id } = await prove(['passed'])
    await age(id, 1.99)
    expect(await state()).toMatchObject({ met: true, unmet: [] })
    await age(id, 0.02)
    expect(await state()).toMatchObject({ met: false, unmet: [{ condition: 'maxAgeDays', required: 2 }] })
    expect((await activate()).body.details).toMatchObject([{ path: 'maxAgeDays' }])
  })

  it('not at all if there is no experiment', async ({ expect }) => {
    const { setGate, state, activate } = await newProof(1)
    await setGate({ minItems: 2, minPassRate: 0.9 })
    expect(await state()).toMatchObject({
      experimentId: null,
      met: false,
      unmet: [
        { condition: 'minItems', required: 2, actual: 0 },
        { condition: 'minPassRate', required: 0.9, actual: null },
      ],
    })
    expect((await activate()).body.details).toEqual([
      { path: 'minItems', message: 'must be at least 2, but is 0' },
      { path: 'minPassRate', message: "must be at least 0.9, but there's nothing to measure" },
    ])
  })

  it('based only on the counts for its split', async ({ expect }) => {
    const { add, setGate, prove, state } = await newProof(2)
    await add([{ expected: EXPECTED, split: 'train' }])
    await setGate({ minItems: 3 })
    await prove(['passed'])
    expect(await state()).toMatchObject({ unmet: [{ condition: 'minItems', actual: 2 }] })
    await setGate({ minItems: 1, split: 'train' })
    expect(await state()).toMatchObject({ met: true })
  })

  it("based on its latest experiment and people's later decisions on the results", async ({ expect }) => {
    const { setGate, prove, state, activate } = await newProof(1)
    await setGate({ minPassRate: 1, maxUnjudged: 0 })
    await prove(['passed'])
    expect((await state()).met).toBe(true)
    const later = await prove(['unjudged'])
    expect(await state()).toMatchObject({ experimentId: later.id, met: false })
    expect((await activate()).status).toBe(409)
    const [itemId = ''] = await later.itemIds()
    await later.review(itemId, 'accept')
    expect(await state()).toMatchObject({ experimentId: later.id, met: true })
    expect((await later.report()).gate.met).toBe(true)
    expect((await activate()).status).toBe(200)
  })

  it('with an experiment that somebody finished, whose pending items are errors', async ({ expect }) => {
    const { setGate, begin, state, versionId } = await newProof(2)
    await setGate({ minPassRate: 1 })
    const run = await begin({ promptVersionId: versionId })
    const [itemId = ''] = await run.itemIds()
    await run.sendOutputs({ [itemId]: EXPECTED })
    expect((await state()).experimentId).toBeNull()
    await run.finish()
    expect(await state()).toMatchObject({
      experimentId: run.id,
      unmet: [{ condition: 'minPassRate', required: 1, actual: 0.5 }],
    })
  })

  it('only until the evaluator changes, and again once it changes back', async ({ expect }) => {
    const { org, datasetId, setGate, prove, state } = await newProof(1)
    await setGate({})
    await prove(['passed'])
    const set = (evaluator: object) => org.owner.put(`/api/datasets/${datasetId}/evaluator`, evaluator)
    await set({ type: 'exact' })
    expect(await state()).toMatchObject({ experimentId: null, met: false })
    await set({})
    expect((await state()).met).toBe(true)
  })

  it('even after the dataset changes', async ({ expect }) => {
    const { org, datasetId, ids, add, setGate, prove, state } = await newProof(2)
    await setGate({ minItems: 2, minPassRate: 1 })
    const { id } = await prove(['passed'])
    await add([{ expected: 'Something else', split: 'test' }])
    await org.owner.patch(`/api/datasets/${datasetId}/items/${ids[0]}`, { excluded: true })
    expect(await state()).toMatchObject({ experimentId: id, met: true })
  })

  it.for<[string, object]>([
    ['on a named version of the dataset', { version: 'CURRENT' }],
    ['on a sample', { sample: 2 }],
    ['with stale items', { includeStale: true }],
    ['on another split', { split: 'train' }],
    ['against another experiment', { baseline: 'OTHER' }],
    ['of another version', { promptVersionId: 'FIRST' }],
    ['without a version', { promptVersionId: undefined }],
  ])('not with an experiment %s, even if it is the latest one', async ([, fields], { expect }) => {
    const { org, add, setGate, prove, state, prompt } = await newProof(2)
    await add([{ expected: EXPECTED, split: 'train' }])
    await setGate({})
    const other = await prove(['passed'], { promptVersionId: prompt.firstId })
    const { version } = (await org.read.get('/api/datasets?projectSlug=support')).body.datasets[0]
    const named: Record<string, string> = { CURRENT: version, OTHER: other.id, FIRST: prompt.firstId }
    const filled = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, named[value] ?? value]))
    await prove(['passed'], filled)
    expect(await state()).toMatchObject({ experimentId: null, met: false })
    const proof = await prove(['passed'])
    await prove(['failed'], filled)
    expect(await state()).toMatchObject({ experimentId: proof.id, met: true })
  })

  it('not with an experiment that is running or canceled, or on another step', async ({ expect }) => {
    const { org, setGate, begin, state, versionId } = await newProof(2)
    await setGate({})
    const run = await begin({ promptVersionId: versionId })
    const [itemId = ''] = await run.itemIds()
    await run.sendOutputs({ [itemId]: EXPECTED })
    expect((await state()).experimentId).toBeNull()
    await run.cancel()
    expect((await state()).experimentId).toBeNull()
    const elsewhere = `/api/projects/${org.project.id}/gates/other`
    await org.owner.put(elsewhere, { minItems: 1 })
    expect((await org.read.get(`${elsewhere}?versionId=${versionId}`)).body.experimentId).toBeNull()
  })

  it("not with another tenant's or project's experiment", async ({ expect }) => {
    const { versionId, prove } = await newProof(1)
    await prove(['passed'])
    const other = await newProof(1)
    await other.setGate({})
    expect((await other.state(versionId)).experimentId).toBeNull()
  })

  it('according to its experiment’s report, whose gate is null if there is no gate or no version', async ({
    expect,
  }) => {
    const { setGate, prove } = await newProof(1)
    const [tried, untied] = [await prove(['passed']), await prove(['passed'], { promptVersionId: undefined })]
    expect((await tried.report()).gate).toBeNull()
    await setGate({})
    expect((await tried.report()).gate).toMatchObject({ experimentId: tried.id, met: true })
    expect((await untied.report()).gate).toBeNull()
  })
})

/** Moves an item to the `test` split. */
async function toTest(org: Org, itemId: string): Promise<void> {
  const { id } = (await org.read.get('/api/datasets?projectSlug=support')).body.datasets[0]
  const moved = await org.owner.patch(`/api/datasets/${id}/items/${itemId}`, { split: 'test' })
  if (moved.status !== 200) throw new Error(JSON.stringify(moved.body))
}

describe('with a gate', () => {
  it('a person can override it with a reason, which is audited', async ({ expect }) => {
    const { setGate, activate, active, audited, prompt, versionId } = await newProof()
    await setGate({})
    for (const override of ['', ' \n', 7]) {
      expect(await activate({ override })).toMatchObject({ status: 400, body: { details: [{ path: 'override' }] } })
    }
    const override = 'The customer is on the phone.'
    expect(await activate({ override })).toMatchObject({ status: 200, body: { versionId } })
    expect(await active()).toBe(versionId)
    const entry = { beforeId: prompt.firstId, afterId: versionId, reason: override }
    expect(await audited('prompt.activate')).toEqual([entry])
    // The version is active now, so sending it again does nothing.
    expect((await activate({ override: 'Again' })).status).toBe(200)
    expect(await audited('prompt.activate')).toEqual([entry])
  })

  it('agents and pipelines cannot override it, but can activate a version that meets it', async ({ expect }) => {
    const { org, setGate, prove, activate } = await newProof(1)
    await setGate({})
    const keys = await Promise.all(
      ['agent', 'pipeline'].map(async actsAs => org.clientOf(await org.keyFor({ actsAs }))),
    )
    for (const key of keys) {
      expect(await activate({ override: 'Because' }, key)).toMatchObject({
        status: 403,
        body: { code: 'person_required' },
      })
      expect((await activate({}, key)).status).toBe(409)
    }
    await prove(['passed'])
    for (const key of keys) expect((await activate({}, key)).status).toBe(200)
  })

  it('a reason that is not needed is not recorded', async ({ expect }) => {
    const { org, path, setGate, prove, activate, audited, prompt, versionId, draft } = await newProof(1)
    const override = 'Just in case'
    const third = await draft()
    expect((await org.owner.put(`${path}/active-version`, { versionId: third, override })).status).toBe(200)
    await setGate({})
    await prove(['passed'])
    expect((await activate({ override })).status).toBe(200)
    expect((await activate({ override, versionId: prompt.firstId })).status).toBe(200)
    expect(await audited('prompt.activate')).toEqual([
      { beforeId: versionId, afterId: prompt.firstId, reason: null },
      { beforeId: third, afterId: versionId, reason: null },
      { beforeId: prompt.firstId, afterId: third, reason: null },
    ])
  })

  it('a version that was active before may become active again', async ({ expect }) => {
    const { org, path, setGate, activate, audited, prompt, versionId } = await newProof()
    const wasActive = async () =>
      (await org.read.get(path)).body.versions.map((version: { wasActive: boolean }) => version.wasActive)
    expect(await wasActive()).toEqual([true, false])
    await activate()
    await setGate({})
    expect((await activate({ versionId: prompt.firstId })).body.versionId).toBe(prompt.firstId)
    expect(await wasActive()).toEqual([true, true])
    expect((await activate()).body.versionId).toBe(versionId)
    expect((await activate()).body.versionId).toBe(versionId)
    expect(await audited('prompt.activate')).toHaveLength(3)
  })

  it("a new version can't be active immediately, and a rejected one isn't stored", async ({ expect }) => {
    const { org, path, setGate, active, audited, versions, prompt } = await newProof(0)
    await setGate({})
    const before = await versions()
    const refused = await org.owner.post(`${path}/versions`, { content: 'Third', activate: true })
    expect(refused).toMatchObject({ status: 409, body: { code: 'gate_not_met', details: [{ path: 'activate' }] } })
    expect(await versions()).toEqual(before)
    expect(await active()).toBe(prompt.firstId)
    expect(await audited('prompt.add_version')).toHaveLength(1)
    expect((await org.owner.post(`${path}/versions`, { content: 'Third' })).status).toBe(201)
  })

  it('a new prompt needs an override', async ({ expect }) => {
    const { org, path, setGate, audited } = await newProof(0)
    await setGate({})
    const create = (fields: object, by = org.owner) =>
      by.post('/api/prompts', { projectSlug: 'support', stepId: STEP, content: 'New', ...fields })
    const override = 'There is no candidate yet.'
    expect(await create({ override })).toMatchObject({ status: 409, body: { code: 'conflict' } })
    await org.owner.delete(path)
    expect(await create({})).toMatchObject({
      status: 409,
      body: { code: 'gate_not_met', details: [{ path: 'override' }] },
    })
    const agent = org.clientOf(await org.keyFor({ actsAs: 'agent' }))
    expect(await create({ override }, agent)).toMatchObject({ status: 403, body: { code: 'person_required' } })
    const created = await create({ override })
    expect(created.status).toBe(201)
    expect(await create({ override, stepId: 'other' })).toMatchObject({ status: 201 })
    expect((await audited('prompt.create')).map(({ reason }: { reason: unknown }) => reason)).toEqual([
      null,
      override,
      null,
    ])
  })

  it("other steps' prompts and knowledge docs are unaffected", async ({ expect }) => {
    const { org, setGate } = await newProof(0)
    await setGate({})
    for (const [path, named] of [
      ['/api/prompts', { stepId: 'other' }],
      ['/api/knowledge-docs', { slug: STEP, title: 'Doc' }],
    ] as const) {
      const created = await org.owner.post(path, { projectSlug: 'support', content: 'First', ...named })
      expect(created.status).toBe(201)
      const second = { content: 'Second', activate: true }
      expect((await org.owner.post(`${path}/${created.body.id}/versions`, second)).status).toBe(201)
      const third = (await org.owner.post(`${path}/${created.body.id}/versions`, { content: 'Third' })).body.id
      const active = await org.owner.put(`${path}/${created.body.id}/active-version`, { versionId: third })
      expect(active).toMatchObject({ status: 200, body: { versionId: third } })
    }
  })

  it('an unknown version still gets a 422', async ({ expect }) => {
    const { setGate, activate } = await newProof(0)
    await setGate({})
    expect((await activate({ versionId: crypto.randomUUID() })).status).toBe(422)
  })
})

/**
 * Bindings that run `act` right before the batch that activates a version. That's usually the first batch. If the step
 * has a gate, it's the second, because the first one only finds the gate.
 */
function beforeActivation(act: () => Promise<unknown>, hasGate: boolean) {
  let batches = 0
  let isDone = false
  return wrapBindings(
    async (binding, call) => {
      if (binding === 'DB' && batches === (hasGate ? 2 : 1) && !isDone) {
        isDone = true
        await act()
      }
      return call()
    },
    undefined,
    ({ sql }) => {
      if (/^insert into "text_activations"/i.test(sql)) batches++
    },
  )
}

describe('an activation is checked again', () => {
  const racing = async (
    { org, path, gatePath, versionId }: Awaited<ReturnType<typeof newProof>>,
    act: () => Promise<unknown>,
    fields: object = {},
  ) => {
    const hasGate = (await org.read.get(gatePath)).status === 200
    const bindings = beforeActivation(act, hasGate)
    return client({ 'x-api-key': org.ownerKey }, bindings).put(`${path}/active-version`, { versionId, ...fields })
  }

  it('if the step gets a gate in the meantime', async ({ expect }) => {
    const proof = await newProof(1)
    expect(await racing(proof, () => proof.setGate({}))).toMatchObject({ status: 409, body: { code: 'gate_not_met' } })
    expect(await proof.active()).toBe(proof.prompt.firstId)
    expect(await proof.audited('prompt.activate')).toEqual([])
  })

  it('if the gate becomes stricter in the meantime', async ({ expect }) => {
    const proof = await newProof(1)
    await proof.setGate({})
    await proof.prove(['passed'])
    expect((await racing(proof, () => proof.setGate({ minItems: 2 }))).status).toBe(409)
    expect(await proof.active()).toBe(proof.prompt.firstId)
  })

  it('if a worse experiment finishes in the meantime', async ({ expect }) => {
    const proof = await newProof(1)
    await proof.setGate({ minPassRate: 1 })
    await proof.prove(['passed'])
    expect((await racing(proof, () => proof.prove(['failed']))).status).toBe(409)
    expect(await proof.active()).toBe(proof.prompt.firstId)
    expect(await proof.audited('prompt.activate')).toEqual([])
  })

  it('if a person rejects a result in the meantime', async ({ expect }) => {
    const proof = await newProof(1)
    await proof.setGate({ minPassRate: 1 })
    const run = await proof.prove(['passed'])
    const [itemId = ''] = await run.itemIds()
    expect((await racing(proof, () => run.review(itemId, 'reject'))).status).toBe(409)
    expect(await proof.active()).toBe(proof.prompt.firstId)
  })

  it('if the evaluator changes in the meantime', async ({ expect }) => {
    const proof = await newProof(1)
    await proof.setGate({})
    await proof.prove(['passed'])
    const change = () => proof.org.owner.put(`/api/datasets/${proof.datasetId}/evaluator`, { type: 'exact' })
    expect((await racing(proof, change)).status).toBe(409)
    expect(await proof.active()).toBe(proof.prompt.firstId)
  })

  it('and an override is recorded only if it was needed in the end', async ({ expect }) => {
    const proof = await newProof(1)
    await proof.setGate({})
    const reason = 'In a hurry'
    expect((await racing(proof, () => proof.prove(['passed']), { override: reason })).status).toBe(200)
    const entry = { beforeId: proof.prompt.firstId, afterId: proof.versionId }
    expect(await proof.audited('prompt.activate')).toEqual([{ ...entry, reason: null }])
  })

  it('and succeeds if the gate is deleted in the meantime', async ({ expect }) => {
    const proof = await newProof(1)
    await proof.setGate({})
    await proof.prove(['passed'])
    expect((await racing(proof, () => proof.org.owner.delete(proof.gatePath))).status).toBe(200)
    expect(await proof.active()).toBe(proof.versionId)
  })

  it('and succeeds if somebody activates the same version with an override in the meantime', async ({ expect }) => {
    const proof = await newProof(1)
    await proof.setGate({})
    await proof.prove(['passed'])
    const overridden = async () => {
      await proof.prove(['failed'])
      await proof.setGate({ minPassRate: 1 })
      return proof.activate({ override: 'First' })
    }
    expect((await racing(proof, overridden, { override: 'Second' })).status).toBe(200)
    const entry = { beforeId: proof.prompt.firstId, afterId: proof.versionId, reason: 'First' }
    expect(await proof.audited('prompt.activate')).toEqual([entry])
  })

  it('if the step gets the name of a step with a gate in the meantime', async ({ expect }) => {
    const proof = await newProof(1)
    const { org } = proof
    await org.owner.put(`/api/projects/${org.project.id}/gates/new`, { minItems: 1 })
    const rename = () => org.owner.put(`/api/projects/${org.project.id}/step-names`, { names: { [STEP]: 'new' } })
    expect((await racing(proof, rename)).status).toBe(409)
    expect(await proof.active()).toBe(proof.prompt.firstId)
  })
})

describe('concurrent activations', () => {
  it('take effect once each, one after another', async ({ expect }) => {
    const { setGate, prove, activate, active, audited, draft, prompt } = await newProof(1)
    await setGate({})
    const drafts = await Promise.all(Array.from({ length: 6 }, draft))
    for (const id of drafts.slice(0, 3)) await prove(['passed'], { promptVersionId: id })
    const answers = await Promise.all(drafts.map(id => activate({ versionId: id })))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 409, 409, 409])
    const entries: { beforeId: string; afterId: string }[] = (await audited('prompt.activate')).toReversed()
    expect(entries.map(({ afterId }) => afterId).toSorted()).toEqual(drafts.slice(0, 3).toSorted())
    // Entries from the same millisecond have no defined order, so follow the chain of versions.
    let last = prompt.firstId
    for (let step = 0; step < 3; step++) last = entries.find(({ beforeId }) => beforeId === last)?.afterId ?? ''
    expect(await active()).toBe(last)
  })
})

describe('renaming steps', () => {
  const rename = ({ org }: { org: Org }, names: object) =>
    org.owner.put(`/api/projects/${org.project.id}/step-names`, { names })

  it('keeps the gate and its experiments with the step', async ({ expect }) => {
    const proof = await newProof(1)
    const { org, setGate, prove, activate } = proof
    await setGate({})
    await rename(proof, { [STEP]: 'new' })
    const [oldPath, newPath] = [STEP, 'new'].map(name => `/api/projects/${org.project.id}/gates/${name}`)
    for (const path of [oldPath, newPath]) expect((await org.read.get(path ?? '')).body.gate.stepId).toBe('new')
    expect((await activate()).status).toBe(409)
    await prove(['passed'])
    await org.owner.put(newPath ?? '', { minItems: 1, minPassRate: 1 })
    expect((await org.read.get(`${oldPath}?versionId=${proof.versionId}`)).body).toMatchObject({
      gate: { minPassRate: 1 },
      met: true,
    })
    await rename(proof, {})
    expect((await org.read.get(oldPath ?? '')).body.gate).toMatchObject({ stepId: STEP, minPassRate: 1 })
    expect((await org.read.get(newPath ?? '')).status).toBe(404)
  })

  it('keeps a gate and an evaluator that were set under the new name', async ({ expect }) => {
    const proof = await newProof(1)
    const { org, datasetId, activate } = proof
    await rename(proof, { [STEP]: 'new' })
    await org.owner.put(`/api/projects/${org.project.id}/gates/new`, { minItems: 1 })
    await org.owner.put(`/api/datasets/${datasetId}/evaluator`, { type: 'exact' })
    await rename(proof, {})
    expect((await activate()).status).toBe(409)
    expect((await org.read.get(`/api/datasets/${datasetId}`)).body.evaluator).toEqual({ type: 'exact' })
  })

  it('requires a person if there is a gate or an evaluator', async ({ expect }) => {
    const proof = await newProof(0)
    const { org, datasetId, setGate, gatePath } = proof
    const agent = org.clientOf(await org.keyFor({ actsAs: 'agent' }))
    const renameAsAgent = async (name: string) =>
      (await agent.put(`/api/projects/${org.project.id}/step-names`, { names: { [STEP]: name } })).status
    expect(await renameAsAgent('a')).toBe(200)
    await setGate({})
    expect(await renameAsAgent('b')).toBe(403)
    await org.owner.delete(gatePath)
    await org.owner.put(`/api/datasets/${datasetId}/evaluator`, { type: 'exact' })
    expect(await renameAsAgent('b')).toBe(403)
    expect((await rename(proof, { [STEP]: 'b' })).status).toBe(200)
  })

  it('is rejected if a step would end up with two gates', async ({ expect }) => {
    const proof = await newProof(0)
    const { org, setGate } = proof
    await setGate({})
    await org.owner.put(`/api/projects/${org.project.id}/gates/new`, { minItems: 1 })
    expect(await rename(proof, { [STEP]: 'new' })).toMatchObject({
      status: 409,
      body: { details: [{ path: `names.${STEP}`, message: 'has a gate, and so does "new"' }] },
    })
    await org.owner.delete(`/api/projects/${org.project.id}/gates/new`)
    expect((await rename(proof, { [STEP]: 'new' })).status).toBe(200)
  })

  it('is rejected if a step would end up with two evaluators', async ({ expect }) => {
    const proof = await newProof(0)
    const { org, datasetId } = proof
    const other = (await org.owner.put('/api/datasets', { projectSlug: 'support', stepId: 'new' })).body.id
    const set = (id: string, evaluator: object) => org.owner.put(`/api/datasets/${id}/evaluator`, evaluator)
    await set(datasetId, { type: 'exact' })
    await set(other, { type: 'text' })
    expect(await rename(proof, { [STEP]: 'new' })).toMatchObject({
      status: 409,
      body: { details: [{ path: `names.${STEP}`, message: 'has an evaluator, and so does "new"' }] },
    })
    await set(other, {})
    expect((await rename(proof, { [STEP]: 'new' })).status).toBe(200)
    expect((await org.read.get('/api/datasets?projectSlug=support')).body.datasets).toMatchObject([
      { stepId: 'new', evaluator: { type: 'exact' } },
    ])
  })
})
