import * as v from 'valibot'
import type { Parsed } from '../api/contract.ts'
import { endpoint } from '../api/endpoint.ts'
import { DATASET_ID, EXPERIMENT_ID, PROMPT_DRAFT_ID } from '../api/story.ts'
import { parseEvaluator, partsAt, Split, Version } from '../datasets/wire.ts'
import { sampleThreshold, samplingHash } from '../domain/dataset-split.ts'
import { writeVersion } from '../domain/dataset-version.ts'
import { RUNNERS } from '../domain/experiment.ts'
import { sha256Hex } from '../domain/hash.ts'
import { newId } from '../domain/ids.ts'
import { JobError } from '../domain/job-error.ts'
import { canonicalJson } from '../domain/json.ts'
import type { Env } from '../env.ts'
import { described, objectOfBytes, text, Uuid, wholeNumber } from '../http/atoms.ts'
import { badRequest, conflict, unprocessable } from '../http/errors.ts'
import {
  MAX_COST_USD,
  MAX_EXPERIMENT_ITEMS,
  MAX_EXPERIMENT_SPLITS,
  MAX_METADATA_BYTES,
  MAX_NAME_LENGTH,
  MAX_WALKED_ITEMS,
} from '../limits.ts'
import { requireModel } from '../model/provider.ts'
import { selectedProject } from '../read/project.ts'
import { actorOf } from '../store/accounts/audit.ts'
import type { Store } from '../store/core/store.ts'
import { markItemsStale } from '../store/datasets/changes.ts'
import { type Dataset, findDataset } from '../store/datasets/datasets.ts'
import { findHeads, type ItemHead } from '../store/datasets/items.ts'
import { addExperiment, type ExperimentRecord, findExperiment, runOf } from '../store/experiments/experiments.ts'
import { findStepVersion } from '../store/experiments/prompts.ts'
import { experiment } from './examples.ts'
import { type Frame, isEligible, isOnSameStep, requireDatasetOf, requireExperiment, walkAll } from './frame.ts'
import { settingsFor } from './model/run.ts'
import { Experiment, RECORDED, toExperiment } from './wire.ts'

const NO_ITEMS = 'The dataset has no matching items'
const TAKEN = 'Another experiment has this ID'

const NewExperiment = v.strictObject({
  id: v.optional(
    described(
      Uuid,
      "An ID that you choose. Sending the request again doesn't create a second experiment. Default: a random ID.",
    ),
  ),
  projectSlug: v.string(),
  datasetId: Uuid,
  version: v.optional(Version),
  split: v.optional(described(Split, 'Only the items in this split. Default: all splits.')),
  sample: v.optional(
    described(
      wholeNumber(1, MAX_EXPERIMENT_ITEMS),
      "The number of items to try. As long as the dataset doesn't change, the same number selects the same items. Default: all.",
    ),
  ),
  itemId: v.optional(described(Uuid, "Only this item. An experiment on one item doesn't count toward a gate.")),
  includeStale: v.optional(
    described(v.boolean(), 'Whether to include items whose output has changed since the decision'),
    false,
  ),
  name: v.optional(text(1, MAX_NAME_LENGTH)),
  metadata: v.optional(objectOfBytes(MAX_METADATA_BYTES), {}),
  promptVersionId: v.optional(
    described(
      Uuid,
      "The version of the step's prompt to try, active or not. If `runner` is `model`, the default is the active one.",
    ),
  ),
  runner: described(
    v.picklist(RUNNERS),
    'client: you run the items and send results. model: the service asks the configured model.',
  ),
  model: v.optional(
    described(
      text(1, MAX_NAME_LENGTH),
      "If `runner` is `client`: the model that you're trying, for your own records. If `runner` is `model`: a model from the configured provider, by default the configured model.",
    ),
  ),
  baseline: v.optional(
    described(
      v.union([v.literal(RECORDED), Uuid], `must be "${RECORDED}" or the ID of an experiment`),
      'What to compare with: `recorded` for the outputs in production, or the ID of a finished experiment on the same dataset.',
    ),
    RECORDED,
  ),
  maxCostUsd: v.optional(
    described(
      v.pipe(v.number(), v.minValue(0, 'must be at least 0'), v.maxValue(MAX_COST_USD)),
      'If `runner` is `model`: the most that its calls may cost. When the budget is used up, the remaining items become errors. If `runner` is `client`: for your own records.',
    ),
  ),
})

export const createExperiment = endpoint({
  family: 'experiment',
  method: 'POST',
  path: '/api/experiments',
  summary: 'Start an experiment',
  description: `Tries a candidate on a dataset's items. The version, split, and sample determine the items. An experiment can have at most ${MAX_EXPERIMENT_ITEMS} items. If \`runner\` is \`model\`, the service puts each item's values into the prompt in place of placeholders such as \`{{input}}\`, \`{{input.question}}\`, and \`{{state.chunks}}\`. If the prompt has no placeholders, it becomes the system message, and the input becomes the user message. The model's answer must match the version's \`outputSchema\`.`,
  scope: 'review',
  body: NewExperiment,
  location: 201,
  errors: { 404: 'Not found', 409: `${TAKEN} / No model is configured`, 422: NO_ITEMS },
  responses: { 201: Experiment },
  example: {
    body: {
      id: EXPERIMENT_ID,
      projectSlug: 'support',
      datasetId: DATASET_ID,
      split: 'test',
      name: 'Cite the warranty doc',
      promptVersionId: PROMPT_DRAFT_ID,
      runner: 'client',
    },
    answers: { 201: experiment },
  },
}).handle(async context => {
  const { body, store, act, now } = context
  const project = await selectedProject(context, body)
  const dataset = await requireDatasetOf(context, project, body.datasetId)
  const { id = newId(), ...request } = body
  const requestHash = await sha256Hex(canonicalJson(JSON.parse(JSON.stringify(request))))
  const answer = (record: ExperimentRecord) => {
    if (record.requestHash !== requestHash || record.projectKey !== project.key) throw conflict(TAKEN, 'id')
    return { status: 201, body: toExperiment(record, now), location: `/api/experiments/${record.id}` } as const
  }
  const known = body.id === undefined ? undefined : await findExperiment(store, id)
  if (known) return answer(known)
  const { stepId } = dataset
  const version = await findStepVersion(store, { projectKey: project.key, stepId }, body.promptVersionId ?? null)
  if (body.promptVersionId && !version) throw unprocessable("is not a version of the step's prompt", 'promptVersionId')
  const run = body.runner === 'model' ? requireRunnable(context.runtime.env, body, version) : undefined
  if (body.baseline !== RECORDED) {
    const baseline = await requireExperiment(context, body.baseline)
    if (!isOnSameStep(baseline, dataset)) throw unprocessable('is an experiment on another dataset', 'baseline')
    if (baseline.state !== 'finished') throw unprocessable("hasn't finished", 'baseline')
  }
  const { parts, drawn } = await drawItems(store, dataset, body, now)
  const record = await addExperiment(store, project, {
    id,
    requestHash,
    datasetId: dataset.id,
    stepId,
    version: await writeVersion(parts),
    isVersionNamed: body.version !== undefined,
    split: body.split ?? null,
    sample: body.sample ?? null,
    itemId: body.itemId ?? null,
    seed: dataset.id,
    threshold: drawn.threshold,
    includesStale: body.includeStale,
    name: body.name ?? null,
    metadata: JSON.stringify(body.metadata),
    promptVersionId: body.promptVersionId ?? run?.promptVersionId ?? null,
    runner: body.runner,
    model: run?.model ?? body.model ?? null,
    maxCostUsd: body.maxCostUsd ?? null,
    baselineId: body.baseline === RECORDED ? null : body.baseline,
    evaluator: JSON.stringify(parseEvaluator(dataset.evaluator)),
    outputSchema: version?.schema ?? null,
    items: drawn.items,
    repeatedInputs: drawn.repeatedInputs,
    userId: actorOf(act) ?? '',
    createdAt: now,
  })
  if (record === 'taken') throw conflict(TAKEN, 'id')
  if (run) {
    const { kind: jobKind, subject } = runOf(record.id)
    await context.enqueue({ kind: 'model_job', organizationKey: store.organization.key, jobKind, subject })
  }
  return answer(record)
})

/** What the model should run. 409 if no model is configured, 400 or 422 if the model can't run it. */
function requireRunnable(env: Env, body: Parsed<typeof NewExperiment>, version: { id: string } | undefined) {
  const configured = requireModel(env)
  if (!version) throw unprocessable('The step has no prompt for the model; create one first', 'promptVersionId')
  const model = body.model ?? configured.name
  const provider = configured.name.slice(0, configured.name.indexOf('/') + 1)
  if (!model.startsWith(provider)) {
    throw badRequest(`must be a model from the configured provider: ${provider}<model>`, 'model')
  }
  if (body.maxCostUsd !== undefined && pricesOf(env, model) === null) {
    throw unprocessable(`The price of ${model} isn't configured, so its cost can't be limited`, 'maxCostUsd')
  }
  return { model, promptVersionId: version.id }
}

/** The price of a model from the configured provider, or null. 400 if the provider has no such model. */
function pricesOf(env: Env, model: string) {
  try {
    return settingsFor(env, model).prices
  } catch (error) {
    throw error instanceof JobError ? badRequest(error.message, 'model') : error
  }
}

/** Draws an experiment's items. 422 if there are none or too many. */
async function drawItems(store: Store, dataset: Dataset, body: Parsed<typeof NewExperiment>, now: number) {
  const selection = { split: body.split ?? null, includesStale: body.includeStale }
  let parts = await partsAt(dataset, body.version)
  if (body.itemId !== undefined) {
    await findOne(store, { dataset, parts }, body.itemId, selection)
    return { parts, drawn: { items: 1, threshold: null, repeatedInputs: 0 } }
  }
  let found = await findEligible(store, { dataset, parts }, selection)
  if (found.outdated.length > 0 && body.version === undefined) {
    await markItemsStale(store, dataset, found.outdated, now)
    parts = (await findDataset(store, dataset.id))?.parts ?? parts
    found = await findEligible(store, { dataset, parts }, selection)
  }
  const { eligible, trained } = found
  const hashes = eligible.map(({ id }) => samplingHash(dataset.id, id))
  const threshold = body.sample === undefined ? null : sampleThreshold(hashes, body.sample)
  const drawn = eligible.filter((_, index) => threshold === null || (hashes[index] ?? '') <= threshold)
  if (drawn.length === 0) throw unprocessable(NO_ITEMS, 'datasetId')
  if (drawn.length > MAX_EXPERIMENT_ITEMS) {
    throw unprocessable(
      `An experiment can have at most ${MAX_EXPERIMENT_ITEMS} items, but this one would have ${drawn.length}; send a smaller \`sample\``,
      'sample',
    )
  }
  if (new Set(drawn.map(({ split }) => split)).size > MAX_EXPERIMENT_SPLITS) {
    throw unprocessable(`The items are in more than ${MAX_EXPERIMENT_SPLITS} splits; send one as \`split\``, 'split')
  }
  const repeated = drawn.filter(({ split, inputHash }) => split === 'test' && trained.has(inputHash))
  return { parts, drawn: { items: drawn.length, threshold, repeatedInputs: repeated.length } }
}

/** The one item that an experiment tries its candidate on. */
async function findOne(
  store: Store,
  { dataset, parts }: Frame,
  itemId: string,
  selection: Parameters<typeof isEligible>[1],
) {
  const head = (await findHeads(store, dataset, parts, [itemId])).get(itemId)
  if (!head) throw unprocessable('is not an item of the dataset', 'itemId')
  if (!isEligible(head, selection)) throw unprocessable('is excluded, stale, or in another split', 'itemId')
  return head
}

/** Finds the items that an experiment may draw from. Reads the dataset once. */
async function findEligible(store: Store, frame: Frame, selection: Parameters<typeof isEligible>[1]) {
  const eligible: Pick<ItemHead, 'id' | 'split' | 'inputHash'>[] = []
  /** The inputs in the `train` split. */
  const trained = new Set<string>()
  /** Eligible items whose output has changed, even if the log doesn't have that change yet. */
  const outdated: ItemHead[] = []
  let walked = 0
  for await (const heads of walkAll(store, frame)) {
    walked += heads.length
    if (walked > MAX_WALKED_ITEMS) {
      throw unprocessable(`has more than ${MAX_WALKED_ITEMS} items, too many to draw from`, 'datasetId')
    }
    for (const head of heads) {
      const { id, split, inputHash } = head
      if (split === 'train' && !head.isExcluded) trained.add(inputHash)
      if (!isEligible(head, selection)) continue
      eligible.push({ id, split, inputHash })
      if (head.isStaleNow && !head.isStale && !selection.includesStale) outdated.push(head)
    }
  }
  return { eligible, trained, outdated }
}
