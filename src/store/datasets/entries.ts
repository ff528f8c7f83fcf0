import { type SQL, sql } from 'drizzle-orm'
import type { DatasetChange, ItemDecision } from '../../domain/dataset.ts'
import { chunkRows } from '../core/chunks.ts'
import { rowSet, selectFor, sqlList } from '../core/rows.ts'
import { mayHaveTraces, type Store } from '../core/store.ts'
import { projects } from '../schema/accounts.ts'
import { datasetEntries, datasets } from '../schema/datasets.ts'
import { traces } from '../schema/traces.ts'
import { isLive } from '../traces/live.ts'

/*
 * Writes the log of datasets. Code that appends entries also updates the counts, in the same batch, so the two always
 * agree.
 */

/** The place of an item, in the dataset of a stored step id. */
export interface ItemPlace {
  projectKey: number
  stepId: string
  /** 0 for imported examples. */
  traceKey: number
  itemId: string
}

/** An item's values, in the `StoredValue` columns of its entry. */
export interface EntryValues {
  input: string | null
  inputRef: string | null
  state: string | null
  stateRef: string | null
  output: string | null
  outputRef: string | null
  expected: string | null
  expectedRef: string | null
  metadata: string | null
  metadataRef: string | null
  /** The names of the R2 objects that these values refer to, as a JSON array. */
  objects: string | null
}

/** The counts of a new dataset. */
export const NO_ITEMS = { sequence: 0, accepted: 0, corrected: 0, imported: 0, excluded: 0, removed: 0 }

/** The row sets in the `state` and `alternatives` columns. */
export const STATE = rowSet(['key', 'text', 'ref'])
export const ALTERNATIVES = rowSet(['text', 'ref', 'experimentId'])

/** A decision or import that an entry records. */
interface EntryDecision extends Partial<EntryValues> {
  /** Null removes the item from the dataset. */
  decision: ItemDecision | null
  reviewId: string | null
  reviewedId: string | null
  userId: string | null
  decidedAt: number
  errorType: string | null
  promptVersionId: string | null
  inputHash: string
  outputRevision: string
}

/** A change to one item. Fields that are left out don't change. */
export interface EntryDraft extends ItemPlace, Partial<EntryDecision> {
  change: DatasetChange
  /** The dataset's id. The dataset is created along with its first item. */
  datasetId: string
  /** Whether the draft has the fields of a decision. */
  isDecision: boolean
  /** The default split. Ignored if somebody has already chosen a split, unless `isSplitSet` is true. */
  split?: string
  isSplitSet?: boolean
  isExcluded?: boolean
  isStale?: boolean
  note?: string
  /** In the format of `datasetEntries`. An empty array removes all alternatives. */
  alternatives?: string
  /**
   * The number of the item's last entry when it was read, or 0 if it had none. Undefined if the number doesn't matter.
   */
  basedOn?: number
  /** For a decision: the reviewed span's `reviewNumber` before it. */
  numberBefore?: number
}

/** A draft that changes nothing yet, based on an item's last entry. */
export const unchangedEntry = ({
  projectKey,
  stepId,
  traceKey,
  itemId,
  datasetId,
  sequence,
}: ItemPlace & { datasetId: string; sequence: number }) => ({
  projectKey,
  stepId,
  traceKey,
  itemId,
  datasetId,
  basedOn: sequence,
  isDecision: false,
})

const VALUES = [
  'input',
  'inputRef',
  'state',
  'stateRef',
  'output',
  'outputRef',
  'expected',
  'expectedRef',
  'metadata',
  'metadataRef',
  'objects',
] as const

const DECISION = [
  'decision',
  'reviewId',
  'reviewedId',
  'userId',
  'decidedAt',
  'errorType',
  'promptVersionId',
  'inputHash',
  'outputRevision',
] as const

const PLACE = ['projectKey', 'stepId', 'traceKey', 'itemId'] as const

const ENTRIES = rowSet([
  'ordinal',
  ...PLACE,
  'datasetId',
  'change',
  'isDecision',
  'basedOn',
  'numberBefore',
  'split',
  'isSplitSet',
  'isExcluded',
  'isStale',
  'note',
  'alternatives',
  ...DECISION,
  ...VALUES,
])

/** The row that entry statements read. */
export const ENTRY_ROW = ENTRIES.row

const flag = (value: boolean | undefined) => (value === undefined ? undefined : Number(value))

/** Encodes a change for `entryStatements`. `ordinal` is its position in the batch, from 1. */
export const encodeEntry = (draft: EntryDraft, ordinal: number) =>
  ENTRIES.encode({
    ordinal,
    basedOn: undefined,
    numberBefore: undefined,
    split: undefined,
    note: undefined,
    alternatives: undefined,
    ...NO_DECISION,
    ...NO_VALUES,
    ...draft,
    isDecision: Number(draft.isDecision),
    isSplitSet: flag(draft.isSplitSet),
    isExcluded: flag(draft.isExcluded),
    isStale: flag(draft.isStale),
  })

const NO_VALUES = {
  input: undefined,
  inputRef: undefined,
  state: undefined,
  stateRef: undefined,
  output: undefined,
  outputRef: undefined,
  expected: undefined,
  expectedRef: undefined,
  metadata: undefined,
  metadataRef: undefined,
  objects: undefined,
}

const NO_DECISION = {
  decision: undefined,
  reviewId: undefined,
  reviewedId: undefined,
  userId: undefined,
  decidedAt: undefined,
  errorType: undefined,
  promptVersionId: undefined,
  inputHash: undefined,
  outputRevision: undefined,
}

/** Whether the row of `dataset_entries` under an alias belongs to the item in `row`. */
const isItem = (alias: string, row: Readonly<Record<(typeof PLACE)[number], SQL>>): SQL => {
  const column = (name: string) => sql.raw(`${alias}.${name}`)
  return sql`(${column('project_key')} = ${row.projectKey} and ${column('step_id')} = ${row.stepId}
    and ${column('trace_key')} = ${row.traceKey} and ${column('item_id')} = ${row.itemId})`
}

/**
 * The statements that append changes to the log, for a batch. `rows` has at most one row per item, encoded by
 * `encodeEntry`. A row is appended if `mayAppend`, a condition on `ENTRY_ROW`, is true and the item hasn't changed
 * since it was read. Missing datasets are created as needed.
 */
export function entryStatements(store: Store, rows: string, at: number, mayAppend: SQL) {
  const { database, organization } = store
  const { row } = ENTRIES
  const given = ENTRIES.fromWide(rows)
  const previous = (name: string) => sql.raw(`previous.${name}`)
  const decided = (field: SQL, name: string) => sql`iif(${row.isDecision}, ${field}, ${previous(name)})`
  const next = sql`${datasets.sequence} + ${row.ordinal}`
  const hasValues = sql`(${row.isDecision} and ${row.decision} is not null)`
  return [
    database
      .insert(datasets)
      .select(
        selectFor(
          datasets,
          {
            projectKey: row.projectKey,
            stepId: row.stepId,
            organizationKey: organization.key,
            id: row.datasetId,
            ...NO_ITEMS,
            updatedAt: at,
          },
          sql`from ${given} where ${hasValues} and ${mayAppend}`,
        ),
      )
      .onConflictDoNothing(),
    database
      .insert(datasetEntries)
      .select(
        selectFor(
          datasetEntries,
          {
            projectKey: row.projectKey,
            stepId: row.stepId,
            traceKey: row.traceKey,
            itemId: row.itemId,
            sequence: next,
            change: row.change,
            decision: decided(row.decision, 'decision'),
            split: sql`iif(${row.isSplitSet} is null and previous.is_split_set, previous.split, coalesce(${row.split}, previous.split))`,
            isSplitSet: sql`coalesce(${row.isSplitSet}, previous.is_split_set, 0)`,
            isExcluded: sql`coalesce(${row.isExcluded}, previous.is_excluded, 0)`,
            isStale: sql`coalesce(${row.isStale}, previous.is_stale, 0)`,
            valuesSequence: sql`iif(${hasValues}, ${next}, coalesce(previous.values_sequence, 0))`,
            reviewId: decided(row.reviewId, 'review_id'),
            reviewedId: decided(row.reviewedId, 'reviewed_id'),
            userId: decided(row.userId, 'user_id'),
            decidedAt: decided(row.decidedAt, 'decided_at'),
            errorType: decided(row.errorType, 'error_type'),
            promptVersionId: decided(row.promptVersionId, 'prompt_version_id'),
            inputHash: decided(row.inputHash, 'input_hash'),
            outputRevision: decided(row.outputRevision, 'output_revision'),
            note: sql`coalesce(${row.note}, previous.note)`,
            // A new decision removes the alternatives to the old approved output.
            alternatives: sql`nullif(iif(${row.isDecision}, ${row.alternatives}, coalesce(${row.alternatives}, previous.alternatives)), '[]')`,
            objects: row.objects,
            input: row.input,
            inputRef: row.inputRef,
            state: row.state,
            stateRef: row.stateRef,
            output: row.output,
            outputRef: row.outputRef,
            expected: row.expected,
            expectedRef: row.expectedRef,
            metadata: row.metadata,
            metadataRef: row.metadataRef,
          },
          sql`from ${given} cross join ${datasets}
            left join ${datasetEntries} as previous on ${isItem('previous', row)} and previous.sequence = (
              select max(last.sequence) from ${datasetEntries} as last where ${isItem('last', row)})
            where ${datasets.projectKey} = ${row.projectKey} and ${datasets.stepId} = ${row.stepId}
              and ${datasets.organizationKey} = ${organization.key}
              and (${hasValues} or previous.sequence is not null)
              and (${row.basedOn} is null or ${row.basedOn} = coalesce(previous.sequence, 0))
              and ${mayAppend}`,
        ),
      )
      .onConflictDoNothing(),
    countEntries(store, given, row, at),
  ] as const
}

/**
 * Updates each dataset's counts with the entries after its `sequence`. `given` has the places of the items, with the
 * columns in `row`.
 */
function countEntries(
  { database, organization }: Store,
  given: SQL,
  row: Readonly<Record<(typeof PLACE)[number], SQL>>,
  at: number,
) {
  const change = (counts: (alias: string) => SQL) =>
    sql`sum(coalesce(${counts('added')}, 0) - coalesce(${counts('previous')}, 0))`
  const isOf = (decision: ItemDecision) => (alias: string) => sql`(${sql.raw(alias)}.decision = ${decision})`
  const isExcluded = (alias: string) =>
    sql`(${sql.raw(alias)}.decision is not null and ${sql.raw(alias)}.is_excluded = 1)`
  const changes = {
    project_key: row.projectKey,
    step_id: row.stepId,
    last: sql`max(added.sequence)`,
    accepted: change(isOf('accept')),
    corrected: change(isOf('correct')),
    imported: change(isOf('import')),
    excluded: change(isExcluded),
  }
  const columns = sql.join(
    Object.entries(changes).map(([name, value]) => sql`${value} as ${sql.raw(name)}`),
    sql`, `,
  )
  const add = (name: 'accepted' | 'corrected' | 'imported' | 'excluded') =>
    sql`${datasets[name]} + scanned.${sql.raw(name)}`
  return database
    .update(datasets)
    .set({
      sequence: sql`scanned.last`,
      accepted: add('accepted'),
      corrected: add('corrected'),
      imported: add('imported'),
      excluded: add('excluded'),
      updatedAt: at,
    })
    .from(
      sql`(select ${columns} from ${given} cross join ${datasets} as counted cross join ${datasetEntries} as added
        left join ${datasetEntries} as previous on ${isItem('previous', row)} and previous.sequence = (
          select max(last.sequence) from ${datasetEntries} as last
          where ${isItem('last', row)} and last.sequence < added.sequence)
        where counted.project_key = ${row.projectKey} and counted.step_id = ${row.stepId}
          and ${isItem('added', row)} and added.sequence > counted.sequence
        group by ${sqlList({ projectKey: row.projectKey, stepId: row.stepId })}) as scanned`,
    )
    .where(
      sql`${datasets.projectKey} = scanned.project_key and ${datasets.stepId} = scanned.step_id
        and ${datasets.organizationKey} = ${organization.key}`,
    )
}

/** A condition on `ENTRY_ROW`: the item's trace exists or, for an imported example, its project does. */
export const isOfLiveOwner = (store: Store): SQL => {
  const { row } = ENTRIES
  const isOfProject = sql`exists (
    select 1 from ${projects} where ${projects.key} = ${row.projectKey} and ${projects.deletedAt} is null
      and ${projects.organizationKey} = ${store.organization.key})`
  return mayHaveTraces(store)
    ? sql`iif(${row.traceKey} = 0, ${isOfProject}, exists (
        select 1 from ${traces} where ${isLive(store, sql`${traces.key} = ${row.traceKey}`)}))`
    : isOfProject
}

/**
 * Whether any of these changes would be appended now. Use this in a statement that runs before the changes are
 * appended.
 */
export const isUnchangedItem = (store: Store, rows: string, mayAppend: SQL): SQL => sql`exists (
  select 1 from ${ENTRIES.from(rows)} where ${mayAppend} and ${ENTRIES.row.basedOn} = coalesce((
    select max(last.sequence) from ${datasetEntries} as last cross join ${datasets}
    where ${isItem('last', ENTRIES.row)} and ${datasets.projectKey} = last.project_key
      and ${datasets.stepId} = last.step_id and ${datasets.organizationKey} = ${store.organization.key}), 0))`

/**
 * Appends changes to the log, at most one per item. Skips a change if its trace is gone, or if somebody else has
 * changed the item since it was read.
 */
export async function appendEntries(store: Store, drafts: readonly EntryDraft[], at: number): Promise<void> {
  let ordinal = 0
  for (const { json } of chunkRows(drafts, draft => encodeEntry(draft, ++ordinal))) {
    await store.database.batch(entryStatements(store, json, at, isOfLiveOwner(store)))
  }
}
