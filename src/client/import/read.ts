import { describe } from '../errors.ts'
import { nestsTooDeep } from '../json.ts'
import { MAX_RECORD_DEPTH, MAX_RECORD_LENGTH } from '../limits.ts'
import { fieldOf } from '../service.ts'
import type { Place } from './report.ts'
import type { Value } from './values.ts'

/** A file to import. It's read more than once. */
export interface ImportFile {
  name: string
  open(): AsyncIterable<Uint8Array>
}

/** A record from a file, or the reason why it can't be read. */
export type Read = Place & ({ value: Value } | { error: string })

/**
 * Reads a file's records one by one, in bounded memory: JSON Lines, a JSON array, JSON values one after another, or an
 * API's pages, whose list is in `data`. The file may be gzipped. A broken record doesn't affect the others, and a
 * truncated file yields the records before the place where it was cut off.
 */
export async function* recordsOf(file: ImportFile): AsyncGenerator<Read> {
  let place: Place = { file: file.name, line: 1 }
  try {
    for await (const json of jsonTexts(textOf(file))) {
      place = { file: file.name, line: json.line }
      yield* recordsIn(json.text, place)
    }
  } catch (error) {
    // The file may have been readable in an earlier stage, so stop the import.
    if (fieldOf(error, 'syscall') !== undefined) throw error
    yield { ...place, error: `The rest of the file can't be read: ${describe(error).message}` }
  }
}

function* recordsIn(text: string | undefined, place: Place): Generator<Read> {
  if (text === undefined) {
    yield { ...place, error: `A record is longer than ${MAX_RECORD_LENGTH / 1024 / 1024} MiB` }
    return
  }
  let value: Value
  try {
    value = JSON.parse(text)
  } catch (error) {
    yield { ...place, error: `Not JSON: ${describe(error).message}` }
    return
  }
  if (nestsTooDeep(text, MAX_RECORD_DEPTH)) yield { ...place, error: `Nests deeper than ${MAX_RECORD_DEPTH} levels` }
  else for (const item of itemsOf(value)) yield { ...place, value: item }
}

/** The items of an API's page, or the record itself. */
function itemsOf(value: Value): Value[] {
  if (Array.isArray(value)) return value
  if (typeof value !== 'object' || value === null) return [value]
  const list = ['data', 'runs', 'feedback', 'items'].map(name => value[name]).find(Array.isArray)
  const isPage = list && Object.keys(value).every(name => PAGE_FIELDS.has(name))
  return isPage ? list : [value]
}

const PAGE_FIELDS = new Set([
  'data',
  'runs',
  'feedback',
  'items',
  'meta',
  'cursors',
  'next_cursor',
  'nextCursor',
  'search_cursors',
  'total',
  'has_more',
])

/** A file's text, in pieces. Invalid UTF-8 becomes U+FFFD. */
async function* textOf(file: ImportFile): AsyncGenerator<string> {
  const bytes = file.open()[Symbol.asyncIterator]()
  const first = await bytes.next()
  const start = first.done ? new Uint8Array() : first.value
  const isGzip = start[0] === 0x1f && start[1] === 0x8b
  const rest = (async function* () {
    yield start
    for (let next = await bytes.next(); !next.done; next = await bytes.next()) yield next.value
  })()
  const decoder = new TextDecoder()
  for await (const chunk of isGzip ? inflated(rest) : rest) yield decoder.decode(chunk, { stream: true })
  yield decoder.decode()
}

async function* inflated(bytes: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  const source = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await bytes.next()
      if (next.done) controller.close()
      else controller.enqueue(next.value)
    },
  })
  const reader = source.pipeThrough(new DecompressionStream('gzip')).getReader()
  for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value
}

interface JsonText {
  /** Undefined if it's too long. */
  text: string | undefined
  line: number
}

/**
 * Splits a file into its records' JSON. In JSON Lines, each line is one record, so a broken record ends with its line.
 * A file that begins with a bracket, or whose first line isn't complete, is split by its brackets.
 */
async function* jsonTexts(pieces: AsyncIterable<string>): AsyncGenerator<JsonText> {
  const iterator = pieces[Symbol.asyncIterator]()
  const held: string[] = []
  let length = 0
  let hasBegun = false
  let isDone = false
  for (let isComplete = false; !isComplete && length < MAX_RECORD_LENGTH; ) {
    const next = await iterator.next()
    if (next.done) {
      isDone = true
      break
    }
    held.push(next.value)
    length += next.value.length
    // Look only at what's new: the first line may be the whole file.
    const start: number = hasBegun ? 0 : leading(next.value)
    hasBegun ||= start < next.value.length
    isComplete = hasBegun && next.value.indexOf('\n', start) >= 0
  }
  const head = held.join('')
  const [firstLine = ''] = head.slice(leading(head)).split('\n', 1)
  const isSplitByBrackets = firstLine.startsWith('[') || (firstLine.startsWith('{') && /[,{[:]\s*$/.test(firstLine))
  const rest = (async function* () {
    yield* held
    if (!isDone) for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value
  })()
  yield* isSplitByBrackets ? byBrackets(rest) : byLines(rest)
}

/** How many characters at the start of a string are whitespace or a byte order mark. */
const leading = (text: string): number => /^[\s\uFEFF]*/.exec(text)?.[0].length ?? 0

async function* byLines(pieces: AsyncIterable<string>): AsyncGenerator<JsonText> {
  let line = 1
  let parts: string[] = []
  let length = 0
  const taken = function* (): Generator<JsonText> {
    const text = parts.join('').replace(/^\uFEFF/, '')
    if (length > MAX_RECORD_LENGTH) yield { text: undefined, line }
    else if (text.trim() !== '') yield { text, line }
    parts = []
    length = 0
  }
  for await (const piece of pieces) {
    let start = 0
    for (let end = piece.indexOf('\n'); end >= 0; end = piece.indexOf('\n', start)) {
      keep(piece.slice(start, end))
      yield* taken()
      line++
      start = end + 1
    }
    keep(piece.slice(start))
  }
  yield* taken()

  function keep(part: string): void {
    length += part.length
    if (length <= MAX_RECORD_LENGTH) parts.push(part)
    else parts = []
  }
}

const OPENING = new Set(['{', '['])
const CLOSING = new Set(['}', ']'])

/** Yields the items of a top-level array, and other top-level values. */
async function* byBrackets(pieces: AsyncIterable<string>): AsyncGenerator<JsonText> {
  let line = 1
  let startLine = 1
  let depth = 0
  /** The depth at which records begin: 1 in an array. */
  let base = 0
  let isInText = false
  let isEscaped = false
  let text = ''
  let isLong = false
  const taken = function* (): Generator<JsonText> {
    if (isLong) yield { text: undefined, line: startLine }
    else if (text.trim() !== '') yield { text, line: startLine }
    text = ''
    isLong = false
  }
  for await (const piece of pieces) {
    let start = 0
    for (let index = 0; index < piece.length; index++) {
      const unit = piece[index] ?? ''
      if (unit === '\n') line++
      if (isInText) {
        if (isEscaped) isEscaped = false
        else if (unit === '\\') isEscaped = true
        // A JSON string can't contain a line break, so a missing quote costs one line at most.
        else if (unit === '"' || unit === '\n') isInText = false
      } else if (unit === '"') isInText = true
      else if (OPENING.has(unit)) {
        if (depth === 0 && unit === '[') {
          base = 1
          start = index + 1
        } else if (depth === base) {
          start = index
          startLine = line
          text = ''
        }
        depth++
      } else if (CLOSING.has(unit)) {
        depth--
        if (depth === base) {
          keep(piece.slice(start, index + 1))
          yield* taken()
          start = index + 1
        }
        if (depth <= 0) {
          depth = 0
          base = 0
          start = index + 1
          text = ''
        }
      } else if (depth === base && (unit === ',' || unit === '\uFEFF')) {
        keep(piece.slice(start, index))
        yield* taken()
        start = index + 1
        startLine = line
      }
    }
    keep(piece.slice(start))
  }
  if (depth > base || text.trim() !== '') yield* taken()
  else if (depth > 0) yield { text: '[', line }

  function keep(part: string): void {
    if (text.length + part.length > MAX_RECORD_LENGTH) {
      isLong = true
      text = ''
    }
    if (!isLong) text += part
  }
}
