import { type SQL, sql } from 'drizzle-orm'
import { MAX_SPAN_BYTES } from '../../limits.ts'
import type { Store } from '../core/store.ts'
import { lengthOf } from '../traces/payloads.ts'
import type { Dataset } from './datasets.ts'
import { ALTERNATIVES, STATE } from './entries.ts'
import { type ItemHead, selectValues } from './items.ts'

/** The cost of reading an item. */
export interface ItemSize {
  /** The size of its values in its rows, in bytes. */
  bytes: number
  /** The number of its values in R2. */
  objects: number
}

/** The overhead of an item besides its values. */
const ITEM_BYTES = 600
/**
 * The approximate size of a value's preview in an item's state. The state is a list, which may itself be in R2, with a
 * preview of each value that's in R2.
 */
const LISTED_VALUE_BYTES = 300

/**
 * Measures items without reading their values, in one query for each database. Returns sizes in the order of `heads`.
 * The size of a purged item is 0.
 */
export async function measureItems(
  store: Store,
  dataset: Pick<Dataset, 'projectKey'>,
  heads: readonly ItemHead[],
): Promise<ItemSize[]> {
  const sizes = heads.map((): ItemSize => ({ bytes: 0, objects: 0 }))
  if (heads.length === 0) return sizes
  const length = (column: SQL) => sql`coalesce(octet_length(${column}), 0)`
  const refsIn = (rows: typeof STATE | typeof ALTERNATIVES, column: SQL) =>
    sql`(select group_concat(${rows.rowOf('listed').ref}, ' ') from ${rows.from(column, 'listed')})`
  const rows = await selectValues<MeasuredRow>(
    store,
    dataset,
    heads,
    ({
      number,
      entries,
      ofLast,
    }) => sql`select ${number} as number, ${length(sql`entry.input`)} + ${length(sql`entry.state`)}
        + ${length(sql`entry.output`)} + ${length(sql`entry.expected`)} + ${length(sql`entry.metadata`)}
        + ${ofLast(length(sql`last.alternatives`))} as bytes,
        entry.input_ref as inputRef, entry.output_ref as outputRef, entry.expected_ref as expectedRef,
        entry.metadata_ref as metadataRef, entry.state_ref as stateRef,
        ${refsIn(STATE, sql`iif(entry.state_ref is null, entry.state, null)`)} as listedRefs,
        ${ofLast(refsIn(ALTERNATIVES, sql`last.alternatives`))} as alternativeRefs
      from ${entries}`,
  )
  for (const measured of rows) sizes[measured.number] = sizeOf(measured)
  return sizes
}

interface MeasuredRow {
  number: number
  bytes: number
  inputRef: string | null
  outputRef: string | null
  expectedRef: string | null
  metadataRef: string | null
  stateRef: string | null
  /** The references in a state that isn't itself in R2, separated by spaces. */
  listedRefs: string | null
  /** The references in alternatives. */
  alternativeRefs: string | null
}

function sizeOf({ bytes, stateRef, listedRefs, alternativeRefs, ...row }: MeasuredRow): ItemSize {
  const lists = [listedRefs, alternativeRefs].flatMap(refs => refs?.split(' ') ?? [])
  const refs = [row.inputRef, row.outputRef, row.expectedRef, row.metadataRef, stateRef, ...lists]
  const values = refs.filter(ref => ref !== null).map(ref => ({ text: '', ref }))
  const inState = stateRef === null ? 0 : Math.ceil(lengthOf({ text: '', ref: stateRef }) / LISTED_VALUE_BYTES)
  return {
    // Past this size, values become previews.
    bytes:
      ITEM_BYTES +
      bytes +
      Math.min(
        values.reduce((sum, value) => sum + lengthOf(value), 0),
        MAX_SPAN_BYTES,
      ),
    objects: values.length + inState,
  }
}
