import { csvRow } from '../domain/csv.ts'
import { jsonPieces } from '../domain/json.ts'
import { turnsByLength } from '../domain/turns.ts'

/* Formats shared by all exported files. Items arrive in parts. */

/** Writes each item as one line of JSON, and a last line that shows that the file is complete. */
export async function* writeJsonLines<Item>(
  parts: AsyncIterable<readonly Item[]>,
  show: (item: Item) => object,
): AsyncGenerator<string> {
  let items = 0
  for await (const part of parts) {
    for (const item of part) {
      items++
      yield* jsonPieces(show(item))
      yield '\n'
    }
  }
  yield `${JSON.stringify({ end: true, items })}\n`
}

/** Writes each item as a row of CSV, under a row of column names. */
export async function* writeCsv<Item>(
  parts: AsyncIterable<readonly Item[]>,
  columns: readonly string[],
  cellsOf: (item: Item) => string[],
): AsyncGenerator<string> {
  const giveTurns = turnsByLength()
  yield csvRow(columns)
  for await (const part of parts) {
    for (const item of part) {
      const row = csvRow(cellsOf(item))
      await giveTurns(row.length)
      yield row
    }
  }
}

/** JSON, or nothing for an empty object. */
export const writtenCell = (value: object): string =>
  Object.keys(value).length === 0 ? '' : jsonPieces(value).join('')

/** A name that any file system accepts. */
export const fileName = (...parts: string[]): string =>
  parts.map(part => part.replace(/[^A-Za-z0-9._]+/g, '-').slice(0, MAX_NAME_PART)).join('-')

const MAX_NAME_PART = 64
