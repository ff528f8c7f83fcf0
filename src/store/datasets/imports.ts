import { sql } from 'drizzle-orm'
import { defaultSplit } from '../../domain/dataset-split.ts'
import { contentName } from '../../domain/hash.ts'
import { datasetUuid } from '../../domain/ids.ts'
import { canonicalJson } from '../../domain/json.ts'
import { MAX_IMPORTED_ITEMS } from '../../limits.ts'
import { type Act, actorOf, recordAct } from '../accounts/audit.ts'
import { chunkRows } from '../core/chunks.ts'
import { rowSet } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { datasetEntries } from '../schema/datasets.ts'
import { type Folder, placeUnder } from '../traces/payloads.ts'
import type { Dataset } from './datasets.ts'
import { type EntryDraft, encodeEntry, entryStatements, isOfLiveOwner, STATE } from './entries.ts'
import { columnsOf, hashInput, objectsOf } from './freeze.ts'
import { folderOf } from './item-values.ts'
import { findHeads } from './items.ts'

/** An example to import. Values are JSON. */
export interface ExampleDraft {
  id: string
  input: string
  expected: string
  /** Values by state key. */
  state: Readonly<Record<string, string>>
  metadata: string
}

/** The result for an example: `conflict` if another example or a span already has its id. */
export type ImportOutcome = 'created' | 'repeated' | 'conflict' | 'too_many'

/**
 * Adds examples to a dataset. Sending the same example again changes nothing. Takes three round trips, plus R2 writes
 * for large values. Ids must be unique.
 */
export async function importExamples(
  store: Store,
  act: Act,
  dataset: Dataset,
  drafts: readonly ExampleDraft[],
): Promise<ImportOutcome[]> {
  const hashes = await Promise.all(drafts.map(hashExample))
  const known = await findImports(
    store,
    dataset,
    drafts.map(({ id }) => id),
  )
  // Experiments and reviewers identify an item only by its id, so an example can't have a span's id.
  const heads = await findHeads(
    store,
    dataset,
    dataset.parts,
    drafts.map(({ id }) => id),
  )
  let room = MAX_IMPORTED_ITEMS - dataset.imported
  const outcomes = drafts.map(({ id }, index): ImportOutcome => {
    const hash = known.get(id)
    if (hash !== undefined) return hash === hashes[index] ? 'repeated' : 'conflict'
    if (heads.has(id)) return 'conflict'
    return --room < 0 ? 'too_many' : 'created'
  })
  const created = drafts.flatMap((draft, index) =>
    outcomes[index] === 'created' ? [{ draft, hash: hashes[index] ?? '' }] : [],
  )
  await addEntries(store, act, dataset, await entriesOf(store, act, dataset, created))
  if (created.length === 0) return outcomes
  // Another request may have taken an id in the meantime.
  const stored = await findImports(
    store,
    dataset,
    created.map(({ draft }) => draft.id),
  )
  return drafts.map(({ id }, index) => {
    const outcome = outcomes[index] ?? 'conflict'
    return outcome === 'created' && stored.get(id) !== hashes[index] ? 'conflict' : outcome
  })
}

/** A hash of all of an example's values that doesn't depend on key order. */
async function hashExample({ id: _, ...values }: ExampleDraft): Promise<string> {
  const { input, expected, metadata, state } = values
  const parsed = [input, expected, metadata].map(json => JSON.parse(json))
  const states = Object.entries(state).map(([key, json]) => [key, JSON.parse(json)])
  return contentName(canonicalJson([...parsed, Object.fromEntries(states)]))
}

const IDS = rowSet(['stepId', 'itemId'])

/** The hashes of a dataset's imported examples with these ids, by id. */
async function findImports(
  { control }: Store,
  { projectKey, stepId, parts }: Dataset,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const { row } = IDS
  // There may be no items yet under the step's current name.
  const steps = [...new Set([...parts.map(part => part.stepId), stepId])]
  const places = IDS.encodeAll(steps.flatMap(stepId => ids.map(itemId => ({ stepId, itemId }))))
  const rows = await control.database
    .select({ id: datasetEntries.itemId, hash: datasetEntries.outputRevision })
    .from(IDS.from(places))
    .crossJoin(datasetEntries)
    .where(
      sql`${datasetEntries.projectKey} = ${projectKey} and ${datasetEntries.stepId} = ${row.stepId}
        and ${datasetEntries.traceKey} = 0 and ${datasetEntries.itemId} = ${row.itemId}
        and ${datasetEntries.change} = 'import'`,
    )
  return new Map(rows.map(({ id, hash }) => [id, hash]))
}

async function entriesOf(
  store: Store,
  act: Act,
  { projectKey, projectId, stepId }: Dataset,
  created: readonly { draft: ExampleDraft; hash: string }[],
): Promise<EntryDraft[]> {
  const values = created.map(({ draft }) => {
    const folder = folderOf(projectKey, [stepId, 0, draft.id])
    const value = (json: string): { folder: Folder; json: string } => ({ folder, json })
    const state = Object.entries(draft.state).map(([key, json]) => ({ key, value: value(json) }))
    return { input: value(draft.input), expected: value(draft.expected), metadata: value(draft.metadata), state }
  })
  const placement = await placeUnder(
    store,
    values.flatMap(({ input, expected, metadata, state }) => [
      input,
      expected,
      metadata,
      ...state.map(({ value }) => value),
    ]),
  )
  const lists = values.map(({ input: { folder }, state }) => {
    const rows = state.map(({ key, value }) => ({ key, text: null, ref: null, ...placement.get(value) }))
    return { folder, json: STATE.encodeAll(rows) }
  })
  const placedLists = await placeUnder(store, lists)
  const datasetId = await datasetUuid(projectId, stepId)
  return Promise.all(
    created.map(async ({ draft, hash }, index) => {
      const { input, expected, metadata, state = [] } = values[index] ?? {}
      const list = lists[index]
      const placed = (value: { folder: Folder; json: string } | undefined) => value && placement.get(value)
      const [inputValue, expectedValue, metadataValue] = [placed(input), placed(expected), placed(metadata)]
      const stateValue = list && state.length > 0 ? placedLists.get(list) : undefined
      const all = [inputValue, expectedValue, metadataValue, stateValue, ...state.map(({ value }) => placed(value))]
      const inputHash = await hashInput(draft.input)
      return {
        ...columnsOf('input', inputValue),
        ...columnsOf('expected', expectedValue),
        ...columnsOf('metadata', metadataValue),
        ...columnsOf('state', stateValue),
        objects: objectsOf(all),
        projectKey,
        stepId,
        traceKey: 0,
        itemId: draft.id,
        datasetId,
        change: 'import' as const,
        isDecision: true,
        basedOn: 0,
        split: defaultSplit({ group: undefined, inputHash }),
        decision: 'import' as const,
        userId: actorOf(act),
        decidedAt: act.at,
        inputHash,
        // An imported example has no output. Its hash shows whether the same example was sent before.
        outputRevision: hash,
      }
    }),
  )
}

async function addEntries(
  { control }: Store,
  act: Act,
  dataset: Dataset,
  entries: readonly EntryDraft[],
): Promise<void> {
  let ordinal = 0
  for (const { json } of chunkRows(entries, entry => encodeEntry(entry, ++ordinal))) {
    await control.database.batch([
      recordAct(control, act, { action: 'dataset.import', targetId: dataset.id, projectKey: dataset.projectKey }),
      ...entryStatements(control, json, act.at, isOfLiveOwner(control)),
    ])
  }
}
