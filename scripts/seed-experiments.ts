import * as v from 'valibot'
import type { JsonObject } from '../src/domain/json.ts'
import { call } from './call.ts'
import { type DemoExperiment, type DemoItem, EXPERIMENTS, STANDARDS } from './demo/experiments.ts'
import { seededRandom } from './demo/random.ts'

/** Where to seed a project's experiments, and a manager's key. */
interface Target {
  url: string
  key: string
  project: { id: string; slug: string }
}

const Datasets = v.object({ datasets: v.array(v.object({ id: v.string(), stepId: v.string() })) })
const Prompts = v.object({ prompts: v.tuple([v.object({ id: v.string() })]) })
const Detail = v.object({ versions: v.array(v.object({ id: v.string() })) })
const Item = v.object({
  id: v.string(),
  decision: v.nullable(v.string()),
  outcome: v.nullable(v.string()),
  review: v.nullable(v.unknown()),
  input: v.custom<JsonObject>(isObject),
  recordedOutput: v.custom<JsonObject>(isObject),
  expected: v.tupleWithRest([v.custom<JsonObject>(isObject)], v.unknown()),
})
const Items = v.object({ items: v.array(Item), nextCursor: v.nullable(v.string()) })
const Results = v.object({ results: v.array(v.object({ status: v.number(), body: v.unknown() })) })

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Items per page, and results per call. */
const PAGE = 200

/**
 * Sets evaluators and gates, and runs the demo's experiments on the reviewers' decisions. Running this again changes
 * nothing.
 */
export async function seedExperiments(target: Target): Promise<void> {
  const { url, key, project } = target
  const { datasets } = v.parse(Datasets, await call(url, key, 'GET', `/api/datasets?projectSlug=${project.slug}`))
  const datasetIds = new Map(datasets.map(({ stepId, id }) => [stepId, id]))
  for (const { stepId, evaluator, gate } of STANDARDS) {
    await call(url, key, 'PUT', `/api/datasets/${datasetIds.get(stepId)}/evaluator`, evaluator)
    await call(url, key, 'PUT', `/api/projects/${project.id}/gates/${stepId}`, gate)
  }
  for (const experiment of EXPERIMENTS) {
    await runExperiment(target, experiment, datasetIds.get(experiment.stepId) ?? '')
  }
}

async function runExperiment({ url, key, project }: Target, experiment: DemoExperiment, datasetId: string) {
  const { id, stepId, version, name, judged } = experiment
  const path = `/api/experiments/${id}`
  await call(url, key, 'POST', '/api/experiments', {
    id,
    projectSlug: project.slug,
    datasetId,
    name,
    promptVersionId: await versionIdOf({ url, key, project }, stepId, version),
    runner: 'client',
  })
  for (const items of await pagesOf(url, key, `${path}/items?pending=true`)) {
    const results = items.map(item => resultOf(experiment, item))
    const answer = v.parse(Results, await call(url, key, 'POST', `${path}/results`, { results }))
    const refused = answer.results.find(({ status }) => status >= 300)
    if (refused) throw new Error(`A result in the demo was rejected: ${JSON.stringify(refused)}`)
  }
  // Includes the items that an earlier run decided on, so that this run doesn't decide on more of them.
  const waited = (await pagesOf(url, key, `${path}/items?`))
    .flat()
    .filter(({ outcome, review }) => outcome === 'unjudged' || review)
  for (const [index, item] of waited.slice(0, judged).entries()) {
    const decision = index % 2 === 0 ? 'accept' : 'reject'
    await call(url, key, 'POST', `${path}/items/${item.id}/review`, { decision })
  }
}

/** The pages of a list, all read before anything changes their items. */
async function pagesOf(url: string, key: string, list: string): Promise<v.InferOutput<typeof Item>[][]> {
  const pages: v.InferOutput<typeof Item>[][] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const from: string = cursor && `&cursor=${cursor}`
    const page: v.InferOutput<typeof Items> = v.parse(
      Items,
      await call(url, key, 'GET', `${list}&limit=${PAGE}${from}`),
    )
    pages.push(page.items)
    cursor = page.nextCursor
  }
  return pages
}

function resultOf({ id, answer }: DemoExperiment, item: v.InferOutput<typeof Item>) {
  const { id: itemId, input, recordedOutput: output, expected, decision } = item
  const random = seededRandom(`${id} ${itemId}`)
  const known: DemoItem = { id: itemId, input, output, expected: expected[0], isCorrected: decision === 'correct' }
  return {
    itemId,
    output: answer(known, random),
    durationMs: random.whole(400, 2400),
    usage: { inputTokens: random.whole(450, 900), outputTokens: random.whole(20, 160) },
  }
}

/** The id of a version of a step's prompt. */
export async function versionIdOf({ url, key, project }: Target, stepId: string, version: number): Promise<string> {
  const list = `/api/prompts?projectSlug=${project.slug}&stepId=${stepId}`
  const { prompts } = v.parse(Prompts, await call(url, key, 'GET', list))
  const { versions } = v.parse(Detail, await call(url, key, 'GET', `/api/prompts/${prompts[0].id}`))
  return versions[version - 1]?.id ?? ''
}
