import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { MAX_SPAN_BYTES } from '../../limits.ts'
import { rowSet } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { datasetEntries } from '../schema/datasets.ts'
import { lengthOf } from '../traces/payloads.ts'
import type { Dataset } from './datasets.ts'
import type { ItemHead } from './items.ts'

/** What it takes to read an item. */
export interface ItemSize {
  /** The bytes of its values, as its rows have them. */
  bytes: number
  /** Values in R2. */
  objects: number
}

/** The overhead of an item besides its values. */
const ITEM_BYTES = 600
/** A state that is itself in R2 is a list whose values may be in R2. Each then has a preview in the list. */
const LISTED_VALUE_BYTES = 300

const PLACES = rowSet(['number', 'stepId', 'traceKey', 'itemId', 'sequence', 'last'])

/**
 * Measures items without reading their values, in one query. Sizes are in the order of `heads`; a purged item's is 0.
 */
export async function measureItems(
  store: Store,
  { projectKey }: Pick<Dataset, 'projectKey'>,
  heads: readonly ItemHead[],
): Promise<ItemSize[]> {
  const sizes = heads.map((): ItemSize => ({ bytes: 0, objects: 0 }))
  if (heads.length === 0) return sizes
  const places = PLACES.encodeAll(
    heads.map(({ place: [stepId, traceKey, itemId], valuesSequence: sequence, sequence: last }, number) => {
      return { number, stepId, traceKey, itemId, sequence, last }
    }),
  )
  const { row } = PLACES
  const { input, state, output, expected, metadata } = datasetEntries
  const length = (column: SQLWrapper) => sql`coalesce(octet_length(${column}), 0)`
  const ofLast = (value: SQL) => sql`(
    select ${value} from ${datasetEntries} as last
    where last.project_key = ${projectKey} and last.step_id = ${row.stepId} and last.trace_key = ${row.traceKey}
      and last.item_id = ${row.itemId} and last.sequence = ${row.last})`
  const rows = await store.database.all<MeasuredRow>(
    sql`select ${row.number} as number, ${length(input)} + ${length(state)} + ${length(output)} + ${length(expected)}
        + ${length(metadata)} + ${ofLast(sql`coalesce(octet_length(last.alternatives), 0)`)} as bytes, ${datasetEntries.inputRef} as inputRef, ${datasetEntries.outputRef} as outputRef,
        ${datasetEntries.expectedRef} as expectedRef, ${datasetEntries.metadataRef} as metadataRef,
        ${datasetEntries.stateRef} as stateRef, (
          select group_concat(listed.value ->> 2, ' ')
          from json_each(iif(${datasetEntries.stateRef} is null, ${state}, null)) as listed) as listedRefs,
        ${ofLast(sql`(
          select group_concat(listed.value ->> 1, ' ') from json_each(last.alternatives) as listed)`)} as alternativeRefs
      from ${PLACES.from(places)} cross join ${datasetEntries}
      where ${datasetEntries.projectKey} = ${projectKey} and ${datasetEntries.stepId} = ${row.stepId}
        and ${datasetEntries.traceKey} = ${row.traceKey} and ${datasetEntries.itemId} = ${row.itemId}
        and ${datasetEntries.sequence} = ${row.sequence}`,
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
    // Past this, values become previews.
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
