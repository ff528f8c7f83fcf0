import { sql } from 'drizzle-orm'
import { Unanswered } from '../../domain/failures.ts'
import { JsonText } from '../../domain/json.ts'
import { MAX_SPAN_BYTES } from '../../limits.ts'
import type { Store } from '../core/store.ts'
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
import { type HeadPage, type ItemHead, type ItemPlace, selectValues } from './items.ts'

/** An item with its values. */
export interface DatasetItem extends ItemHead {
  input: JsonText
  /** Values by state key. */
  state: Record<string, JsonText>
  /** `null` for an imported example. */
  output: JsonText
  /** What its output should be: the approved output first, then alternatives to it. */
  expected: JsonText[]
  metadata: JsonText
  /** The fields that contain only previews: `input`, `output`, `expected.0`, `state.<key>`, `metadata`. */
  truncated: string[]
}

/** The R2 folder of an item's values. */
export const folderOf = (projectKey: number, [, traceKey, itemId]: ItemPlace): Folder =>
  traceKey === 0 ? `imports/${projectKey}/${itemId}` : traceKey

/** An item's values by the names of the fields that show them. */
type FieldValues = [field: string, value: FoundValue][]

/**
 * Reads the values of as many items as fit on a page, but at least one. `count` is the number of heads that were read.
 * Items that were purged in the meantime are missing. Takes one round trip, plus R2 reads for large values.
 */
export async function readItems(
  store: Store,
  dataset: Pick<Dataset, 'projectKey'>,
  heads: readonly ItemHead[],
  mode: ShownMode,
): Promise<{ items: DatasetItem[]; count: number }> {
  if (heads.length === 0) return { items: [], count: 0 }
  const rows = await findValues(store, dataset, heads)
  const found = heads.flatMap((head, number) => {
    const row = rows.get(number)
    return row ? [{ head, row, folder: folderOf(dataset.projectKey, head.place) }] : []
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
  // The trace is being purged. A retry finds only the items that are left.
  if (!shown) throw new Unanswered(1, new Error("the dataset item's stored object is missing"))
  // Heads whose values are gone also count as read.
  const read =
    count === items.length
      ? heads.length
      : heads.length - heads.toReversed().findIndex(({ id }) => id === page.at(-1)?.head.id)
  return { items: page.map(({ head, values }) => showItem(head, values, shown)), count: read }
}

/** Reads the values of a page of items. The page ends earlier if not all of them fit. */
export async function readPage(
  store: Store,
  dataset: Pick<Dataset, 'projectKey'>,
  { heads, nextPlace }: HeadPage,
  mode: ShownMode,
): Promise<{ items: DatasetItem[]; nextPlace: ItemPlace | null }> {
  const { items, count } = await readItems(store, dataset, heads, mode)
  const last = heads[count - 1]
  return { items, nextPlace: count < heads.length && last ? last.place : nextPlace }
}

/** How much a value adds to the size of a page. Previews of values in R2 add nothing. */
const sizeIn = (mode: ShownMode, value: FoundValue): number =>
  mode === 'full' || value.ref === null ? lengthOf(value) : 0

interface ValueRow extends Omit<EntryValues, 'objects'> {
  number: number
  alternatives: string | null
}

/** The rows with the values of items, by their index in `heads`. */
async function findValues(
  store: Store,
  dataset: Pick<Dataset, 'projectKey'>,
  heads: readonly ItemHead[],
): Promise<Map<number, ValueRow>> {
  const rows = await selectValues<ValueRow>(
    store,
    dataset,
    heads,
    ({
      number,
      entries,
      ofLast,
    }) => sql`select ${number} as number, entry.input as input, entry.input_ref as inputRef, entry.state as state,
        entry.state_ref as stateRef, entry.output as output, entry.output_ref as outputRef, entry.expected as expected,
        entry.expected_ref as expectedRef, entry.metadata as metadata, entry.metadata_ref as metadataRef,
        ${ofLast(sql`last.alternatives`)} as alternatives
      from ${entries}`,
  )
  return new Map(rows.map(row => [row.number, row]))
}

const stateObject = ({ state, stateRef }: ValueRow, folder: Folder): FoundValue | undefined =>
  stateRef === null ? undefined : { text: state ?? '', ref: stateRef, folder }

/** `state` is a JSON array of `[key, text, ref]`, and `alternatives` is one of `[text, ref, …]`. */
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
