import type { DatasetChange } from '../../domain/dataset.ts'
import { datasetUuid } from '../../domain/ids.ts'
import { MAX_ALTERNATIVES, MAX_CHANGE_ATTEMPTS } from '../../limits.ts'
import { type Act, type AuditAction, recordAct } from '../accounts/audit.ts'
import type { Store } from '../core/store.ts'
import { placeUnder } from '../traces/payloads.ts'
import { type Dataset, findDataset } from './datasets.ts'
import {
  appendEntries,
  type EntryDraft,
  encodeEntry,
  entryStatements,
  isOfLiveOwner,
  isUnchangedItem,
  unchangedEntry,
} from './entries.ts'
import { objectsOf } from './freeze.ts'
import { folderOf } from './item-values.ts'
import { type FoundHead, findHeads, type ItemHead } from './items.ts'

/** The fields of an item that people can change without a review. */
export interface ItemChange {
  excluded?: boolean | undefined
  split?: string | undefined
  note?: string | undefined
}

/** Why an item can't be changed. */
type Refusal = 'item_missing' | 'too_many' | 'busy'

/**
 * Changes an item and returns it. If the change has no effect, adds no entry. Returns `item_missing` if the item isn't
 * in the dataset, or `busy` if other requests kept changing the item.
 */
export const changeItem = (
  store: Store,
  act: Act,
  dataset: Dataset,
  itemId: string,
  { excluded, split, note }: ItemChange,
): Promise<ItemHead | Refusal> =>
  change(store, act, dataset, itemId, 'dataset.change_item', head => {
    const isExcluded = excluded ?? head.isExcluded
    const isSame =
      isExcluded === head.isExcluded && (split ?? head.split) === head.split && (note ?? head.note) === head.note
    if (isSame) return undefined
    const kind =
      isExcluded !== head.isExcluded ? 'exclusion' : split !== undefined && split !== head.split ? 'split' : 'note'
    return {
      change: kind,
      isExcluded,
      ...(split !== undefined && { split, isSplitSet: true }),
      ...(note !== undefined && { note }),
    }
  })

/** A value that people accept besides the approved output: its JSON, its reference in R2, and its experiment's id. */
type Alternative = [text: string, ref: string | null, experimentId: string]

const alternativesIn = (head: FoundHead): Alternative[] => JSON.parse(head.alternatives ?? '[]')

const hasAlternativeOf = (head: FoundHead, experimentId: string) =>
  alternativesIn(head).some(([, , id]) => id === experimentId)

/** Whether an experiment's output may become an alternative of an item, or already is one. */
export const hasRoom = (head: FoundHead, experimentId: string): boolean =>
  alternativesIn(head).length < MAX_ALTERNATIVES || hasAlternativeOf(head, experimentId)

/**
 * Adds an experiment's output to an item's expected values, unless it's already there. (An experiment's output on an
 * item never changes.) Returns `too_many` if the item already has the maximum number of alternatives.
 */
export async function addAlternative(
  store: Store,
  act: Act,
  dataset: Dataset,
  head: FoundHead,
  { json, experimentId }: { json: string; experimentId: string },
): Promise<ItemHead | Refusal> {
  if (hasAlternativeOf(head, experimentId)) return head
  const value = { folder: folderOf(dataset.projectKey, head.place), json }
  const placed = (await placeUnder(store, [value])).get(value)
  if (!placed) throw new Error('a value has no place')
  const added: Alternative = [placed.text, placed.ref, experimentId]
  return change(store, act, dataset, head.id, 'dataset.change_item', head => {
    if (hasAlternativeOf(head, experimentId)) return undefined
    return hasRoom(head, experimentId) ? alternativesDraft([...alternativesIn(head), added]) : 'too_many'
  })
}

/** Removes the alternative that `addAlternative` added for an experiment. */
export const endAlternative = (
  store: Store,
  act: Act,
  dataset: Dataset,
  itemId: string,
  experimentId: string,
): Promise<ItemHead | Refusal> =>
  change(store, act, dataset, itemId, 'dataset.change_item', head => {
    const before = alternativesIn(head)
    const left = before.filter(([, , id]) => id !== experimentId)
    return left.length === before.length ? undefined : alternativesDraft(left)
  })

const alternativesDraft = (alternatives: readonly Alternative[]) => ({
  change: 'alternative' as const,
  alternatives: JSON.stringify(alternatives),
  objects: objectsOf(alternatives.map(([text, ref]) => ({ text, ref }))),
})

/**
 * Marks items as stale if their output has changed since the decision, without waiting for the job that would do so
 * later. Skips items that somebody else changes at the same time.
 */
export async function markItemsStale(
  store: Store,
  { projectKey, projectId }: Dataset,
  heads: readonly ItemHead[],
  at: number,
): Promise<void> {
  const toDraft = async ({ id, place: [stepId, traceKey], sequence }: ItemHead): Promise<EntryDraft> => {
    const place = {
      projectKey,
      stepId,
      traceKey,
      itemId: id,
      datasetId: await datasetUuid(projectId, stepId),
      sequence,
    }
    return { ...unchangedEntry(place), change: 'staleness', isStale: true }
  }
  const groups = [...Map.groupBy(heads, ({ shard }) => shard)]
  await Promise.all(
    groups.map(async ([shard, some]) => appendEntries(store.in(shard), await Promise.all(some.map(toDraft)), at)),
  )
}

/**
 * Appends the change that `draftOf` derives from an item's last state. Starts over if somebody else has changed the
 * item in the meantime.
 */
async function change(
  store: Store,
  act: Act,
  dataset: Dataset,
  itemId: string,
  action: AuditAction,
  draftOf: (head: FoundHead) => (Partial<EntryDraft> & { change: DatasetChange }) | 'too_many' | undefined,
): Promise<ItemHead | Refusal> {
  let now = dataset
  for (let attempt = 0; attempt < MAX_CHANGE_ATTEMPTS; attempt++) {
    const head = (await findHeads(store, now, now.parts, [itemId])).get(itemId)
    if (!head) return 'item_missing'
    const fields = draftOf(head)
    if (fields === 'too_many') return fields
    if (fields === undefined) return head
    const [stepId, traceKey] = head.place
    const draft = {
      ...fields,
      projectKey: now.projectKey,
      stepId,
      traceKey,
      itemId,
      datasetId: await datasetUuid(now.projectId, stepId),
      isDecision: false,
      basedOn: head.sequence,
    }
    const rows = JSON.stringify([encodeEntry(draft, 1)])
    const own = store.in(head.shard)
    const mayAppend = isOfLiveOwner(own)
    await own.database.batch([
      recordAct(
        own,
        act,
        { action, targetId: itemId, projectKey: now.projectKey },
        isUnchangedItem(own, rows, mayAppend),
      ),
      ...entryStatements(own, rows, act.at, mayAppend),
    ])
    const latest = await findDataset(store, now.id)
    if (!latest) return 'item_missing'
    now = latest
  }
  return 'busy'
}
