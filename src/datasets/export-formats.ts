import { writeCsv, writeJsonLines, writtenCell } from '../api/file-formats.ts'
import { chatMessages } from '../domain/chat.ts'
import { jsonCell, textCell } from '../domain/csv.ts'
import { isJsonObject, type Json, type JsonText } from '../domain/json.ts'
import { columnsOfValues } from '../domain/output-columns.ts'
import { turnsByLength } from '../domain/turns.ts'
import { CSV_SAMPLE_ITEMS } from '../limits.ts'
import type { DatasetItem } from '../store/datasets/item-values.ts'
import { toItem, toItemHead } from './wire.ts'

/** Items in the order of the file, in parts. */
type Parts = AsyncIterable<readonly DatasetItem[]>

/**
 * Writes each item as a conversation. Leaves out items that have no input, or whose values are too large to show in
 * full.
 */
export async function* writeChats(parts: Parts): AsyncGenerator<string> {
  const giveTurns = turnsByLength()
  for await (const part of parts) {
    for (const {
      input,
      expected: [expected],
      truncated,
    } of part) {
      if (!expected || truncated.includes('input') || truncated.includes('expected.0')) continue
      await giveTurns(input.text.length + expected.text.length)
      const messages = chatMessages(input.text, expected.text)
      if (messages) yield `${JSON.stringify({ messages })}\n`
    }
  }
}

/** The columns before and after those of the expected output. */
const COLUMNS_BEFORE = [
  'id',
  'spanId',
  'traceId',
  'decision',
  'by',
  'at',
  'errorType',
  'promptVersionId',
  'split',
  'stale',
  'excluded',
  'note',
  'input',
  'state',
  'output',
]
const COLUMNS_AFTER = ['metadata', '_rest']

/** Writes each item as one line of JSON. */
export const writeItems = (parts: Parts): AsyncGenerator<string> => writeJsonLines(parts, toItem)

/**
 * Writes each item as a row of CSV. `columns` are the fields of the expected output that get a column. If there are no
 * fields, the whole output gets one column.
 */
export function writeTable(parts: Parts, columns: readonly string[]): AsyncGenerator<string> {
  const own = columns.length === 0 ? ['expected'] : columns.map(column => `expected.${column}`)
  return writeCsv(parts, [...COLUMNS_BEFORE, ...own, ...COLUMNS_AFTER], item => cellsOf(item, columns))
}

/** The columns for items without an `outputSchema`. */
export const columnsOf = (items: readonly DatasetItem[]): string[] =>
  columnsOfValues(items.slice(0, CSV_SAMPLE_ITEMS).flatMap(({ expected }) => expected.slice(0, 1).map(structureOf)))

const structureOf = ({ text }: JsonText): Json => (/^[[{]/.test(text) ? JSON.parse(text) : null)

function cellsOf(item: DatasetItem, columns: readonly string[]): string[] {
  const head = toItemHead(item)
  const [first, ...alternatives] = item.expected
  const { cells, rest } = expectedCells(first, columns)
  const others = {
    ...(rest !== undefined && { expected: rest }),
    ...(alternatives.length > 0 && { alternatives }),
    ...(item.truncated.length > 0 && { truncated: item.truncated }),
  }
  return [
    head.id,
    head.spanId ?? '',
    head.traceId ?? '',
    head.decision ?? '',
    head.by ?? '',
    head.at,
    textCell(head.errorType ?? ''),
    head.promptVersionId ?? '',
    textCell(head.split),
    String(head.stale),
    String(head.excluded),
    textCell(head.note ?? ''),
    jsonCell(item.input.text),
    writtenCell(item.state),
    jsonCell(item.output.text),
    ...cells,
    jsonCell(item.metadata.text === '{}' ? 'null' : item.metadata.text),
    writtenCell(others),
  ]
}

/** The cells of the expected output, and the parts of it that have no cell. */
function expectedCells(
  expected: JsonText | undefined,
  columns: readonly string[],
): { cells: string[]; rest?: Json | JsonText } {
  if (columns.length === 0) return { cells: [jsonCell(expected?.text ?? 'null')] }
  const value = expected && structureOf(expected)
  if (!isJsonObject(value)) return { cells: columns.map(() => ''), ...(expected && { rest: expected }) }
  const fields = new Map(Object.entries(value))
  const cells = columns.map(column => jsonCell(JSON.stringify(fields.get(column) ?? null)))
  for (const column of columns) fields.delete(column)
  return { cells, ...(fields.size > 0 && { rest: Object.fromEntries(fields) }) }
}
