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
import { canonicalJson } from '../domain/json.ts'
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
import { selectedProject } from '../read/project.ts'
import { actorOf } from '../store/accounts/audit.ts'
import type { Store } from '../store/core/store.ts'
import { markItemsStale } from '../store/datasets/changes.ts'
import { type Dataset, findDataset } from '../store/datasets/datasets.ts'
import type { ItemHead } from '../store/datasets/items.ts'
import { addExperiment, type ExperimentRecord, findExperiment } from '../store/experiments/experiments.ts'
import { findStepSchema } from '../store/experiments/schemas.ts'
import { experiment } from './examples.ts'
import { type Frame, isEligible, isOnSameStep, requireDatasetOf, requireExperiment, walkAll } from './frame.ts'
import { Experiment, RECORDED, toExperiment } from './wire.ts'

const NO_ITEMS = 'The dataset has no matching items'
const TAKEN = 'Another experiment has this ID'

const NewExperiment = v.strictObject({
  id: v.optional(
    described(
      Uuid,
      'Chosen by you, so that you can send the request again without creating another one. Default: a random ID.',
    ),
  ),
  projectSlug: v.string(),
  datasetId: Uuid,
  version: v.optional(Version),
  split: v.optional(described(Split, 'Only the items of this split. Default: all splits.')),
  sample: v.optional(
    described(
      wholeNumber(1, MAX_EXPERIMENT_ITEMS),
      "Only this many items. The same number draws the same items as long as the dataset doesn't change. Default: all.",
    ),
  ),
  includeStale: v.optional(
    described(v.boolean(), 'Whether to include items whose output has changed since the decision'),
    false,
  ),
  name: v.optional(text(1, MAX_NAME_LENGTH)),
  metadata: v.optional(objectOfBytes(MAX_METADATA_BYTES), {}),
  promptVersionId: v.optional(described(Uuid, "The version of the step's prompt to try")),
  runner: described(v.picklist(RUNNERS), 'client: you run the items and send results. model: not available yet.'),
  model: v.optional(described(text(1, MAX_NAME_LENGTH), 'The model that you try, for your own records')),
  baseline: v.optional(
    described(
      v.union([v.literal(RECORDED), Uuid], `must be "${RECORDED}" or the ID of an experiment`),
      'What to compare with. recorded: the outputs in production. Otherwise the ID of a finished experiment on the same dataset.',
    ),
    RECORDED,
  ),
  maxCostUsd: v.optional(v.pipe(v.number(), v.minValue(0, 'must be at least 0'), v.maxValue(MAX_COST_USD))),
})

export const createExperiment = endpoint({
  family: 'experiment',
  method: 'POST',
  path: '/api/experiments',
  summary: 'Begin an experiment',
  description: `Tries a candidate on a dataset's items. The version, split, and sample determine which items, up to ${MAX_EXPERIMENT_ITEMS}.`,
  scope: 'review',
  body: NewExperiment,
  location: 201,
  errors: { 404: 'Not found', 409: TAKEN, 422: NO_ITEMS },
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
  if (body.runner === 'model') throw badRequest('The runner `model` is not available yet; use `client`', 'runner')
  const { stepId } = dataset
  const schema = await findStepSchema(store, { projectKey: project.key, stepId }, body.promptVersionId ?? null)
  if (body.promptVersionId && !schema) throw unprocessable("is not a version of the step's prompt", 'promptVersionId')
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
    seed: dataset.id,
    threshold: drawn.threshold,
    includesStale: body.includeStale,
    name: body.name ?? null,
    metadata: JSON.stringify(body.metadata),
    promptVersionId: body.promptVersionId ?? null,
    runner: body.runner,
    model: body.model ?? null,
    maxCostUsd: body.maxCostUsd ?? null,
    baselineId: body.baseline === RECORDED ? null : body.baseline,
    evaluator: JSON.stringify(parseEvaluator(dataset.evaluator)),
    outputSchema: schema?.schema ?? null,
    items: drawn.items,
    repeatedInputs: drawn.repeatedInputs,
    userId: actorOf(act) ?? '',
    createdAt: now,
  })
  if (record === 'taken') throw conflict(TAKEN, 'id')
  return answer(record)
})

/** Draws an experiment's items. 422 if there are none or too many. */
async function drawItems(store: Store, dataset: Dataset, body: Parsed<typeof NewExperiment>, now: number) {
  const selection = { split: body.split ?? null, includesStale: body.includeStale }
  let parts = await partsAt(dataset, body.version)
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
    throw unprocessable(`The items are in more than ${MAX_EXPERIMENT_SPLITS} splits; choose one`, 'split')
  }
  const repeated = drawn.filter(({ split, inputHash }) => split === 'test' && trained.has(inputHash))
  return { parts, drawn: { items: drawn.length, threshold, repeatedInputs: repeated.length } }
}

/** Finds the items that an experiment may draw from. Reads the dataset once. */
async function findEligible(store: Store, frame: Frame, selection: Parameters<typeof isEligible>[1]) {
  const eligible: Pick<ItemHead, 'id' | 'split' | 'inputHash'>[] = []
  /** The inputs in the split `train`. */
  const trained = new Set<string>()
  /** Eligible items whose output has changed, although the log doesn't say so yet. */
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
