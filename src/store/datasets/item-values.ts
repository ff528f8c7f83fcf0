import { sql } from 'drizzle-orm'
import { Unanswered } from '../../domain/failures.ts'
import { JsonText } from '../../domain/json.ts'
import { MAX_SPAN_BYTES } from '../../limits.ts'
import { rowSet } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { datasetEntries } from '../schema/datasets.ts'
import {
  countWithin,
  type Folder,
  type FoundValue,
  fetchValues,
  lengthOf,
  type ShownMode,
  type ShownValue,
  showValues,
} from '../traces/payloads.ts'
import type { Dataset } from './datasets.ts'
import type { EntryValues } from './entries.ts'
import type { ItemHead, ItemPlace } from './items.ts'

/** An item with its values. */
export interface DatasetItem extends ItemHead {
  input: JsonText
  /** Keyed by state key. */
  state: Record<string, JsonText>
  /** `null` for an imported example. */
  output: JsonText
  /** What its output should be: the approved output first, then alternatives to it. */
  expected: JsonText[]
  metadata: JsonText
  /** The fields that hold only previews: `input`, `output`, `expected.0`, `state.<key>`, `metadata`. */
  truncated: string[]
}

/** Where an item's values are in R2. */
export const folderOf = (projectKey: number, [, traceKey, itemId]: ItemPlace): Folder =>
  traceKey === 0 ? `imports/${projectKey}/${itemId}` : traceKey

/** An item's values by the names of the fields that show them. */
type FieldValues = [field: string, value: FoundValue][]

/**
 * Reads the values of items, as many as fit in a page and at least one. `count` is how many heads were read. Items that
 * were purged in the meantime are missing. Takes one round trip, and R2 reads for large values.
 */
export async function readItems(
  store: Store,
  { projectKey }: Pick<Dataset, 'projectKey'>,
  heads: readonly ItemHead[],
  mode: ShownMode,
): Promise<{ items: DatasetItem[]; count: number }> {
  if (heads.length === 0) return { items: [], count: 0 }
  const rows = new Map((await selectValues(store, projectKey, heads)).map(row => [keyOf(row.place), row]))
  const found = heads.flatMap(head => {
    const row = rows.get(keyOf(head.place))
    return row ? [{ head, row, folder: folderOf(projectKey, head.place) }] : []
  })
  const large = found.flatMap(({ row, folder }) => stateObject(row, folder) ?? [])
  const states = await fetchValues(store, large)
  const items = found.map(({ head, row, folder }) => {
    const stateRef = large.find(({ ref }) => ref === row.stateRef)
    const state = stateRef ? states.get(stateRef) : row.state
    return { head, values: fieldsOf(row, state ?? '[]', row.alternatives ?? '[]', folder) }
  })
  const count = countWithin(items.map(({ values }) => values.reduce((sum, [, value]) => sum + sizeIn(mode, value), 0)))
  const page = items.slice(0, count)
  const shown = await showValues(
    store,
    page.flatMap(({ values }) => values.map(([, value]) => value)),
    mode,
    MAX_SPAN_BYTES,
  )
  // The trace is being purged. A retried request finds the items that are left.
  if (!shown) throw new Unanswered(1, new Error('an object of a dataset item is gone'))
  // Heads whose values are gone by now count as read.
  const read =
    count === items.length
      ? heads.length
      : heads.length - heads.toReversed().findIndex(({ id }) => id === page.at(-1)?.head.id)
  return { items: page.map(({ head, values }) => showItem(head, values, shown)), count: read }
}

/** What a value adds to a page: previews of values in R2 add nothing. */
const sizeIn = (mode: ShownMode, value: FoundValue): number =>
  mode === 'full' || value.ref === null ? lengthOf(value) : 0

const keyOf = (place: ItemPlace): string => JSON.stringify(place)

const PLACES = rowSet(['stepId', 'traceKey', 'itemId', 'sequence', 'last'])

type ValueRow = Omit<EntryValues, 'objects'> & { place: ItemPlace; alternatives: string | null }

async function selectValues(store: Store, projectKey: number, heads: readonly ItemHead[]): Promise<ValueRow[]> {
  const { row } = PLACES
  const places = PLACES.encodeAll(
    heads.map(({ place: [stepId, traceKey, itemId], valuesSequence: sequence, sequence: last }) => ({
      stepId,
      traceKey,
      itemId,
      sequence,
      last,
    })),
  )
  const rows = await store.database.all<Omit<ValueRow, 'place'> & { stepId: string; traceKey: number; itemId: string }>(
    sql`select entry.step_id as stepId, entry.trace_key as traceKey, entry.item_id as itemId, entry.input as input,
        entry.input_ref as inputRef, entry.state as state, entry.state_ref as stateRef, entry.output as output,
        entry.output_ref as outputRef, entry.expected as expected, entry.expected_ref as expectedRef,
        entry.metadata as metadata, entry.metadata_ref as metadataRef, (
          select last.alternatives from ${datasetEntries} as last
          where last.project_key = ${projectKey} and last.step_id = ${row.stepId} and last.trace_key = ${row.traceKey}
            and last.item_id = ${row.itemId} and last.sequence = ${row.last}) as alternatives
      from ${PLACES.from(places)} cross join ${datasetEntries} as entry
      where entry.project_key = ${projectKey} and entry.step_id = ${row.stepId} and entry.trace_key = ${row.traceKey}
        and entry.item_id = ${row.itemId} and entry.sequence = ${row.sequence}`,
  )
  return rows.map(({ stepId, traceKey, itemId, ...values }) => ({ ...values, place: [stepId, traceKey, itemId] }))
}

const stateObject = ({ state, stateRef }: ValueRow, folder: Folder): FoundValue | undefined =>
  stateRef === null ? undefined : { text: state ?? '', ref: stateRef, folder }

/** `state` is a JSON array of `[key, text, ref]`, `alternatives` one of `[text, ref, …]`. */
function fieldsOf(row: ValueRow, state: string, alternatives: string, folder: Folder): FieldValues {
  const values: FieldValues = []
  const add = (field: string, text: string | null, ref: string | null) => {
    if (text !== null) values.push([field, { text, ref, folder }])
  }
  const others: [text: string, ref: string | null][] = JSON.parse(alternatives)
  const states: [key: string, text: string, ref: string | null][] = JSON.parse(state)
  add('input', row.input, row.inputRef)
  add('output', row.output, row.outputRef)
  add('expected.0', row.expected, row.expectedRef)
  for (const [index, [text, ref]] of others.entries()) add(`expected.${index + 1}`, text, ref)
  for (const [key, text, ref] of states) add(`state.${key}`, text, ref)
  add('metadata', row.metadata, row.metadataRef)
  return values
}

function showItem(head: ItemHead, values: FieldValues, shown: ReadonlyMap<FoundValue, ShownValue>): DatasetItem {
  const texts = new Map(values.map(([field, value]) => [field, new JsonText(shown.get(value)?.text ?? 'null')]))
  const startingWith = (prefix: string) =>
    [...texts].flatMap(([field, text]) =>
      field.startsWith(prefix) ? [[field.slice(prefix.length), text] as const] : [],
    )
  return {
    ...head,
    input: texts.get('input') ?? NOTHING,
    output: texts.get('output') ?? NOTHING,
    expected: startingWith('expected.').map(([, text]) => text),
    state: Object.fromEntries(startingWith('state.')),
    metadata: texts.get('metadata') ?? NO_METADATA,
    truncated: values.flatMap(([field, value]) => (shown.get(value)?.isWhole ? [] : [field])),
  }
}

const NOTHING = new JsonText('null')
const NO_METADATA = new JsonText('{}')
