import * as v from 'valibot'
import type { FileReply } from '../api/contract.ts'
import { fileName, writeCsv, writeJsonLines } from '../api/file-formats.ts'
import { type Planned, planFile, readInParts, startingWith } from '../api/file-plan.ts'
import { csvRow } from '../domain/csv.ts'
import type { Runtime } from '../env.ts'
import { described } from '../http/atoms.ts'
import { MAX_CURSOR_LENGTH, MAX_FILE_BYTES, MAX_FILE_ITEMS, STORE_DEADLINE_MS } from '../limits.ts'
import type { Project } from '../store/accounts/projects.ts'
import { Deadline } from '../store/core/deadline.ts'
import { reopenStore, type Store } from '../store/core/store.ts'

/* Shared by all exports of filtered lists. */

const TYPES = { jsonl: 'application/jsonl', csv: 'text/csv' } as const

/** The query parameters of an export other than its list's filters. */
export const exportParameters = {
  format: v.picklist(['jsonl', 'csv']),
  cursor: described(
    v.optional(v.pipe(v.string(), v.maxLength(MAX_CURSOR_LENGTH, 'is not a cursor for this export'))),
    'The `x-next-cursor` of the previous file. Send it with the same parameters.',
  ),
}

/** Explains in an endpoint's description where an export's files end. */
export const EXPORT_DESCRIPTION =
  `A file has up to ${MAX_FILE_ITEMS} items and ${MAX_FILE_BYTES / 1024 ** 2} MiB of values. If there are more items, the response has \`x-next-cursor\`, which continues the export. ` +
  'If few items match the filters, even a short or empty file may have this header. ' +
  '`jsonl` has one item per line, and ends with `{"end": true, "items": <count>}`.'

/** The columns of a CSV file, in order. `cellOf` returns an item's cell. */
export type Columns<Item> = readonly (readonly [name: string, cellOf: (item: Item) => string])[]

/** A filtered list to export. */
interface Exported<Item extends Planned<Place>, Place, Shown> {
  name: string
  after: Place | undefined
  /** Finds the next items, without their values. */
  findNext: (after: Place | undefined, limit: number) => Promise<{ items: Item[]; nextPlace: Place | null }>
  /** How many items to find at once. */
  stepItems?: number
  /** Reads as many of these items as fit in memory. Leaves out items that have been deleted in the meantime. */
  read: (store: Store, items: readonly Item[]) => Promise<{ items: Shown[]; count: number }>
  columns: Columns<Shown>
  cursorOf: (place: Place | null) => Promise<string> | null
}

interface ExportContext {
  query: { format: keyof typeof TYPES }
  store: Store
  runtime: Runtime
}

/** Returns a file with the list's next items. */
export async function exportFile<Item extends Planned<Place>, Place, Shown extends object>(
  { query: { format }, store, runtime }: ExportContext,
  project: Project,
  { name, after, findNext, stepItems, read, columns, cursorOf }: Exported<Item, Place, Shown>,
): Promise<FileReply & { type: (typeof TYPES)[keyof typeof TYPES] }> {
  const { planned, nextPlace } = await planFile(store, after, findNext, stepItems)
  // Later parts get their own stores, because a client may take minutes to read them all.
  const reopen = () => reopenStore(runtime.env, store, new Deadline(STORE_DEADLINE_MS))
  const rest = readInParts(planned, (part, isFirst) => read(isFirst ? store : reopen(), part))
  // If this fails, the response is an error instead of half a file.
  const { value: first = [] } = await rest.next()
  const parts = startingWith(first, rest)
  return {
    type: TYPES[format],
    name: `${fileName(project.slug, name)}.${format}`,
    pieces:
      format === 'csv'
        ? writeCsv(
            parts,
            columns.map(([name]) => name),
            cellsOf,
          )
        : writeJsonLines(parts, shown => shown),
    nextCursor: await cursorOf(nextPlace),
  }

  function cellsOf(item: Shown): string[] {
    return columns.map(([, cellOf]) => cellOf(item))
  }
}

/* Examples of files with one item. */

export const jsonLinesExample = (item: object): string => `${JSON.stringify(item)}\n{"end":true,"items":1}\n`

export const csvExample = <Item>(columns: Columns<Item>, item: Item): string =>
  csvRow(columns.map(([name]) => name)) + csvRow(columns.map(([, cellOf]) => cellOf(item)))
