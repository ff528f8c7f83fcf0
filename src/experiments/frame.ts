import type { Caller } from '../auth/authenticate.ts'
import { requireFound } from '../auth/require-project.ts'
import { requireDataset } from '../datasets/wire.ts'
import { samplingHash } from '../domain/dataset-split.ts'
import { type DatasetPart, readVersion } from '../domain/dataset-version.ts'
import { conflict, unprocessable } from '../http/errors.ts'
import { MAX_LISTED_ITEMS } from '../limits.ts'
import { isForeignExperiment } from '../store/accounts/ownership.ts'
import type { Project } from '../store/accounts/projects.ts'
import type { Store, UnscopedStore } from '../store/core/store.ts'
import { type Dataset, findDataset } from '../store/datasets/datasets.ts'
import { type ItemHead, walkItems } from '../store/datasets/items.ts'
import { type ExperimentRecord, findExperiment } from '../store/experiments/experiments.ts'

/** Returns an experiment. 404 if it doesn't exist, 403 if it belongs to another organization or project. */
export const requireExperiment = async (
  { caller, store, unscoped }: { caller: Caller; store: Store; unscoped: UnscopedStore },
  id: string,
): Promise<ExperimentRecord> =>
  requireFound(caller, await findExperiment(store, id), () => isForeignExperiment(unscoped, store.organization, id))

export const OTHER_PROJECT = 'is a dataset in another project'

/** Returns a project's dataset. 404 or 403 as for any dataset, 422 if it belongs to another project. */
export async function requireDatasetOf(
  context: { caller: Caller; store: Store; unscoped: UnscopedStore },
  project: Project,
  datasetId: string,
): Promise<Dataset> {
  const dataset = await requireDataset(context, datasetId)
  if (dataset.projectKey !== project.key) throw unprocessable(OTHER_PROJECT, 'datasetId')
  return dataset
}

/** Whether experiments, or an experiment and a dataset, are on the same step, under any of its names. */
export const isOnSameStep = (one: OfStep, other: OfStep): boolean =>
  one.projectKey === other.projectKey && one.stepId === other.stepId

type OfStep = Pick<ExperimentRecord, 'projectKey' | 'stepId'>

/** A dataset at a version. */
export interface Frame {
  dataset: Dataset
  parts: readonly DatasetPart[]
}

/** An experiment's dataset at its version. Undefined if the dataset lost the version because the step was renamed. */
export async function findFrame(
  store: Store,
  { datasetId, version }: Pick<ExperimentRecord, 'datasetId' | 'version'>,
): Promise<Frame | undefined> {
  const dataset = await findDataset(store, datasetId)
  const parts = dataset && (await readVersion(version, dataset.parts))
  return parts && { dataset, parts }
}

export const RENAMED = "The step was renamed, so its dataset no longer has the experiment's version"

/** An experiment's dataset at its version. 409 if the dataset lost the version because the step was renamed. */
export async function frameOf(store: Store, experiment: ExperimentRecord): Promise<Frame> {
  const frame = await findFrame(store, experiment)
  if (!frame) throw conflict(RENAMED, 'version')
  return frame
}

/** The fields that determine which of a dataset's items an experiment has. */
type Selection = Pick<ExperimentRecord, 'split' | 'includesStale' | 'seed' | 'threshold' | 'itemId'>

/** Whether an experiment has an item. The answer may depend only on the item as it was at the experiment's version. */
export const isSelected = (head: ItemHead, selection: Selection): boolean =>
  isEligible(head, selection) &&
  (selection.itemId === null || selection.itemId === head.id) &&
  (selection.threshold === null || samplingHash(selection.seed, head.id) <= selection.threshold)

/** Whether an experiment on all items has this item. */
export const isEligible = (head: ItemHead, { split, includesStale }: Pick<Selection, 'split' | 'includesStale'>) =>
  !head.isExcluded && (split === null || head.split === split) && (includesStale || !head.isStale)

/** All items of a dataset at a version, without their values, a limited number at a time. */
export async function* walkAll(store: Store, { dataset, parts }: Frame): AsyncGenerator<ItemHead[]> {
  let after: ItemHead['place'] | undefined
  do {
    const { items, nextPlace } = await walkItems(store, dataset, { parts, after, limit: MAX_LISTED_ITEMS })
    yield items
    after = nextPlace ?? undefined
  } while (after)
}
