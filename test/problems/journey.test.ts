import { describe, it } from 'vitest'
import { MAX_EXPERIMENT_ITEMS } from '../../src/limits.ts'
import { event, resultsOf } from '../support/batch.ts'
import { aSpan, aTrace } from '../support/builders.ts'
import { stored } from '../support/database.ts'
import { purgeTrace } from '../support/experiments.ts'
import { newOrg } from '../support/org.ts'

const STEP = 'answer'
const CORRECTION = { decision: 'correct', approvedOutput: 24, errorType: 'reasoning_error' }

/** A project whose step has a prompt, and functions that perform people's actions through the API. */
async function newProject() {
  const org = await newOrg()
  const { owner } = org
  const prompt = (await owner.post('/api/prompts', { projectSlug: 'support', stepId: STEP, content: 'First' })).body
  const traceOf = new Map<string, string>()
  let questions = 0
  const must = ({ status, body }: { status: number; body: unknown }) => {
    if (status >= 300) throw new Error(JSON.stringify(body))
    return body
  }
  /** Adds outputs of a version, each in its own trace. Returns the ids of their spans. */
  const produce = async (versionId: string, count: number): Promise<string[]> => {
    const spans = Array.from({ length: count }, () => {
      const trace = aTrace({ metadata: {} })
      const input = { question: questions++ }
      const fields = { step_id: STEP, input, output: 12, prompt_version_id: versionId }
      return { trace, span: aSpan({ ...fields, trace_id: trace.trace_id, span_id: crypto.randomUUID() }) }
    })
    const results = await resultsOf(
      org,
      spans.flatMap(({ trace, span }) => [event('trace', trace), event('span', span)]),
    )
    for (const [index, { span }] of spans.entries()) traceOf.set(span.span_id, String(results[2 * index]?.body.id))
    return spans.map(({ span }) => span.span_id)
  }
  const decide = async (spanIds: readonly string[], fields: object): Promise<void> => {
    const { body } = await owner.post('/api/reviews', { reviews: spanIds.map(spanId => ({ spanId, ...fields })) })
    for (const result of body.results) must(result)
  }
  const problem = async () => {
    const { problems } = (await owner.get('/api/problems?projectSlug=support')).body
    const [found] = problems
    const inState = (await owner.get(`/api/problems?projectSlug=support&state=${found.state}`)).body.problems
    if (JSON.stringify(inState) !== JSON.stringify(problems)) throw new Error('the list by state differs')
    const alone = (await owner.get(`/api/problems/${found.id}`)).body
    if (JSON.stringify(alone) !== JSON.stringify(found)) throw new Error('the problem differs from the list')
    return found
  }
  /** Runs an experiment on the test items with a version's outputs. Returns its id and its items. */
  const experiment = async (versionId: string, outputOf: (item: { expected: unknown[] }) => unknown) => {
    const { datasets } = (await owner.get('/api/datasets?projectSlug=support')).body
    const draft = { projectSlug: 'support', datasetId: datasets[0].id, runner: 'client', split: 'test' }
    const created = await owner.post('/api/experiments', { ...draft, promptVersionId: versionId })
    const { id } = created.body
    const { items } = (await owner.get(`/api/experiments/${id}/items?limit=200`)).body
    const results = items.map((item: { id: string; expected: unknown[] }) => ({
      itemId: item.id,
      output: outputOf(item),
    }))
    must(await owner.post(`/api/experiments/${id}/results`, { results }))
    return { id: String(id), items: items as { id: string; expected: unknown[] }[] }
  }
  return {
    org,
    owner,
    firstId: String(prompt.versionId),
    produce,
    accept: (spanIds: readonly string[]) => decide(spanIds, { decision: 'accept' }),
    correct: (spanIds: readonly string[]) => decide(spanIds, CORRECTION),
    reset: (spanIds: readonly string[]) => decide(spanIds, { decision: 'reset' }),
    problem,
    experiment,
    addVersion: async (): Promise<string> =>
      (await owner.post(`/api/prompts/${prompt.id}/versions`, { content: crypto.randomUUID() })).body.id,
    activate: async (versionId: string) =>
      must(await owner.put(`/api/prompts/${prompt.id}/active-version`, { versionId })),
    link: async (id: string, candidateVersionId: string | null) =>
      must(await owner.patch(`/api/problems/${id}`, { candidateVersionId })),
    setGate: async (gate: object | null) => {
      const path = `/api/projects/${org.project.id}/gates/${STEP}`
      must(gate ? await owner.put(path, gate) : await owner.delete(path))
    },
    purge: (spanId: string) => purgeTrace(org, traceOf.get(spanId) ?? ''),
  }
}

describe('a problem', () => {
  it('goes from open to verified, moves back at each step, and is reopened', { timeout: 60_000 }, async ({
    expect,
  }) => {
    const { owner, firstId, produce, accept, correct, reset, problem, experiment, purge, ...project } =
      await newProject()
    const { addVersion, activate, link, setGate } = project
    const outputs = await produce(firstId, 90)
    await accept(outputs.slice(0, 45))
    await correct(outputs.slice(45))
    const found = await problem()
    expect(found).toMatchObject({ state: 'open', stepId: STEP, errorType: 'reasoning_error', count: 45, share: 0.5 })

    // A candidate is linked, unlinked, and linked again.
    const secondId = await addVersion()
    await link(found.id, secondId)
    expect(await problem()).toMatchObject({
      state: 'fixing',
      candidate: { versionId: secondId, number: 2 },
      proof: { experimentId: null, met: false, items: 0 },
      watch: null,
    })
    await link(found.id, null)
    expect(await problem()).toMatchObject({ state: 'open', candidate: null, proof: null })
    await link(found.id, secondId)

    // The candidate's proof is first an experiment with too few fixes, and then one with enough fixes.
    const poor = await experiment(secondId, () => 12)
    const test = poor.items.length
    const items = poor.items.filter(({ expected }) => expected[0] === 24).length
    expect([test >= 10, items >= 3]).toEqual([true, true])
    const proof = { experimentId: poor.id, met: true, fixed: 0, items, needed: Math.ceil(0.8 * items) }
    expect(await problem()).toMatchObject({ state: 'fixing', proof })
    const good = await experiment(secondId, ({ expected }) => expected[0])
    const proven = { state: 'proven', proof: { experimentId: good.id, met: true, fixed: items, items, reason: null } }
    expect(await problem()).toMatchObject(proven)
    // List the items behind the proof's figures.
    const listed = async (experimentId: string, filter: string) => {
      const path = `/api/experiments/${experimentId}/items?limit=100&problemId=${found.id}&split=test${filter}`
      const { status, body } = await owner.get(path)
      return { status, count: body.items?.length }
    }
    expect(await listed(poor.id, '')).toEqual({ status: 200, count: items })
    expect(await listed(poor.id, '&change=fixed')).toEqual({ status: 200, count: 0 })
    expect(await listed(good.id, '&change=fixed')).toEqual({ status: 200, count: items })
    const foreign = await newProject()
    await foreign.correct(await foreign.produce(foreign.firstId, 1))
    const { id: foreignId } = await foreign.problem()
    expect(await owner.get(`/api/experiments/${good.id}/items?problemId=${foreignId}`)).toMatchObject({ status: 404 })
    await setGate({ minItems: test + 1 })
    expect(await problem()).toMatchObject({
      state: 'fixing',
      proof: { met: false, fixed: items, reason: "The experiment doesn't meet the step's gate." },
    })
    await setGate(null)
    expect(await problem()).toMatchObject(proven)
    // Deleting a trace subtracts its case from the count, but the proof stays.
    const [tested = ''] = good.items.filter(({ expected }) => expected[0] === 24).map(({ id }) => id)
    await purge(tested)
    expect(await problem()).toMatchObject({ ...proven, count: 44 })

    // The problem goes live, and then moves back.
    await activate(secondId)
    expect(await problem()).toMatchObject({ state: 'live', watch: { state: 'too_early', versionId: secondId } })
    await activate(firstId)
    expect(await problem()).toMatchObject({ ...proven, watch: null })
    await activate(secondId)

    // The first look verifies the problem, and three more cases reopen it.
    const better = await produce(secondId, 23)
    await accept(better.slice(0, 19))
    expect(await problem()).toMatchObject({ state: 'live', watch: { state: 'too_early' } })
    await accept(better.slice(19, 20))
    expect(await problem()).toMatchObject({ state: 'verified', watch: { state: 'better' } })
    await correct(better.slice(20, 22))
    expect(await problem()).toMatchObject({ state: 'verified' })
    await correct(better.slice(22))
    expect(await problem()).toMatchObject({ state: 'open', candidate: { versionId: secondId } })
    await reset(better.slice(22))
    expect(await problem()).toMatchObject({ state: 'verified' })
    await correct(better.slice(22))
    expect(await problem()).toMatchObject({ state: 'open' })

    // The first version becomes active again. Later, a third version becomes the candidate.
    await activate(firstId)
    expect(await problem()).toMatchObject({ state: 'proven' })
    await activate(secondId)
    const thirdId = await addVersion()
    await link(found.id, thirdId)
    expect(await problem()).toMatchObject({ state: 'fixing', candidate: { number: 3 }, proof: { experimentId: null } })
  })

  it('keeps the state "fixing" if it has fewer than three test items, and gives that reason', async ({ expect }) => {
    const { firstId, produce, accept, correct, problem, experiment, addVersion, link } = await newProject()
    const outputs = await produce(firstId, 70)
    await accept(outputs)
    const { items } = await experiment(firstId, () => 12)
    await correct(items.slice(0, 2).map(({ id }) => id))
    const versionId = await addVersion()
    await link((await problem()).id, versionId)
    await experiment(versionId, ({ expected }) => expected[0])
    const reason = "The experiment has 2 of the problem's test items; at least 3 are required."
    expect(await problem()).toMatchObject({
      state: 'fixing',
      proof: { met: true, items: 2, fixed: 2, needed: 3, reason },
    })
  })

  it('counts its items among the results of the largest experiment', async ({ expect }) => {
    const { firstId, produce, correct, problem, experiment, addVersion, link } = await newProject()
    await correct(await produce(firstId, 30))
    const versionId = await addVersion()
    const { id, items } = await experiment(versionId, ({ expected }) => expected[0])
    // These results aren't for this problem's items, and have the longest possible keys.
    await stored
      .prepare(
        `insert into experiment_results
           (experiment_key, item_id, trace_key, outcome, split, was_right, created_at, written_by, content_hash, fields)
         with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ?2)
         select key, printf('%08x-0000-4000-8000-000000000000', n), ?3 - n, 'passed', 'test', 0, 0, '', '', '[[],[]]'
         from experiments cross join numbers where id = ?1`,
      )
      .bind(id, MAX_EXPERIMENT_ITEMS - items.length, Number.MAX_SAFE_INTEGER)
      .run()
    await link((await problem()).id, versionId)
    expect(await problem()).toMatchObject({ proof: { items: items.length, fixed: items.length } })
  })
})
