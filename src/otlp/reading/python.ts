import type { Json } from '../../domain/json.ts'
import { MAX_JSON_DEPTH } from '../../limits.ts'
import { parsed } from './serialized.ts'
import { objectValue } from './values.ts'

/*
 * Values that Python printed: `{'order': 7, 'paid': None}`, `Message(role=<Role.USER: 'user'>, text='hi')`. Frameworks
 * pass a tool's arguments and result, and their own objects, through `str()`, which isn't JSON.
 */

/** Parses a printed dict, list, or tuple. Undefined if the text is anything else. */
export const pythonLiteral = (text: string): Json | undefined =>
  /^\s*[[{(]/.test(text) ? parsedWith(text, parser => parser.value(0)) : undefined

/** A value that was serialized as JSON, or printed by Python. */
export function valueOfText(text: Json): Json {
  const value = parsed(text)
  return typeof value === 'string' ? (pythonLiteral(value) ?? value) : value
}

function parsedWith(text: string, read: (parser: Parser) => Json): Json | undefined {
  const parser = new Parser(text)
  try {
    const value = read(parser)
    return parser.isAtEnd() ? value : undefined
  } catch (error) {
    if (error instanceof NotALiteral) return undefined
    throw error
  }
}

/** How many levels deep to look for printed objects. Arguments to functions are at the top level. */
const PRINTED_DEPTH = 3

/**
 * The value, with any objects that Python printed converted to plain ones. Leaves out printed objects that can't be
 * parsed, and arguments without any text for a reader, such as a framework's own state. Undefined if nothing else is
 * left.
 */
export function withoutPrints(value: Json, depth = 0, isArgument = false): Json | undefined {
  if (typeof value === 'string') return isPrintedObject(value) ? printedObject(value, isArgument) : value
  // A message's text was written for a reader, whatever it looks like.
  if (typeof value !== 'object' || value === null || depth > PRINTED_DEPTH) return value
  if (Array.isArray(value)) {
    // OpenLLMetry serializes the items of a list one by one.
    const items = value.map(item => withoutPrints(parsedItem(item), depth + 1, isArgument))
    const kept = items.filter(item => item !== undefined)
    if (kept.length === value.length && kept.every((item, index) => item === value[index])) return value
    return kept.length > 0 ? kept : undefined
  }
  if (typeof value.role === 'string') return value
  const kept: [string, Json][] = []
  let isChanged = false
  let isLess = false
  for (const field of Object.keys(value)) {
    const item = value[field] ?? null
    const plain = withoutPrints(item, depth + 1, true)
    if (plain !== item) isChanged = true
    if (plain === undefined) isLess = true
    else kept.push([field, plain])
  }
  if (!isChanged) return value
  // If an object's content is gone, the rest of it carries no information.
  const isRest = isLess && kept.every(([field, item]) => item === null || field === 'metadata')
  return isRest ? undefined : objectValue(kept)
}

const parsedItem = (item: Json): Json => (typeof item === 'string' && /^[[{]/.test(item) ? parsed(item) : item)

/** The numbers of a date or a time, in the order of ISO 8601. */
function isoTime([year = 0, month = 1, day = 1, ...time]: Json[]): string {
  const two = (part: Json): string => String(part).padStart(2, '0')
  const date = [year, two(month), two(day)].join('-')
  return time.length === 0 ? date : `${date}T${[...time, 0].slice(0, 3).map(two).join(':')}`
}

/**
 * A printed object's fields. Undefined if it has none, can't be parsed, or is a template rather than text made from
 * one.
 */
function printedObject(text: string, isArgument: boolean): Json | undefined {
  if (/^\s*\w+Template\(/.test(text) || (isArgument && !READABLE.test(text))) return undefined
  const value = parsedWith(text, parser => (/^\w+=/.test(text) ? parser.fields('') : parser.value(0)))
  return typeof value === 'object' && Object.keys(value ?? {}).length === 0 ? undefined : value
}

/** Fields of messages, documents, and calls. */
const READABLE = /\b_?(?:role|content|page_content|text|blocks|tool_kwargs|raw_output)(?:=|: )/

/**
 * Whether a string is how Python prints an object: `<Node object at 0x7f00>`, `[Message(id='1', ...)]`. Such a string
 * isn't content: nobody wrote it for a reader.
 */
export const isPrintedObject = (text: string): boolean =>
  /^\s*\[?<[\w.]{1,200}(?: object(?: at 0x|>)|\(|: )/.test(text) ||
  /^\s*\[?[A-Z]\w{2,100}\([a-z_]\w{0,100}[=:]/.test(text) ||
  /^[A-Z][a-z]{1,100}[A-Z]\w{0,100}\(\)$/.test(text) ||
  // Pydantic's models, as `str()` prints them, and DSPy's signatures.
  /^[a-z_]\w{0,100}='[^'\n]{0,1000}' [a-z_]\w{0,100}=/.test(text) ||
  /^[A-Z]\w{2,100}\([^\n]{1,1000}\n {2,8}instructions=/.test(text)

class NotALiteral extends Error {}

const CLOSING: ReadonlyMap<string, string> = new Map([
  ['[', ']'],
  ['(', ')'],
  ['{', '}'],
])
const WORDS: ReadonlyMap<string, Json> = new Map<string, Json>([
  ['None', null],
  ['True', true],
  ['False', false],
  ['null', null],
  ['true', true],
  ['false', false],
])
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['r', '\r'],
  ['\n', ''],
])

const WORD = /[\w.+-]{1,400}/y
const CONSTRUCTOR = /[A-Za-z_][\w.]{0,200}\(/y
const ENUM = /<[\w.]{1,200}: (?=['"\d])/y
const OPAQUE = /<(?:->|[^<>]|<[^<>]{0,400}>){0,2000}>/y
const FIELD = /^\s*[A-Za-z_]\w{0,100}(?:=|: )/
const FIELD_NAME = /[A-Za-z_]\w{0,100}(?:=|: )/y
const MAX_FIELD_LENGTH = 128
/** An id without quotes. */
const BARE = /(?!(?:None|True|False)\b|[-+]?[\d.]+\s*[,)])[\w-]{1,200}(?=\s*[,)])/y

/** Reads each character once. */
class Parser {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  isAtEnd(): boolean {
    this.#skipSpace()
    return this.#at === this.#text.length
  }

  value(depth: number): Json {
    if (depth > MAX_JSON_DEPTH) throw new NotALiteral()
    this.#skipSpace()
    const start = this.#text.charAt(this.#at)
    const closing = CLOSING.get(start)
    if (start === '{') return this.#dict(depth)
    if (closing !== undefined) {
      this.#at++
      return this.#list(closing, depth)
    }
    if (start === "'" || start === '"') return this.#string(start)
    if (start === '<') return this.#marked(depth)
    const begin = this.#at
    const name = this.#matched(CONSTRUCTOR)
    return name === undefined ? this.#word() : this.#constructed(begin, name, depth)
  }

  /** An enum's value. Null for an object without fields, such as a function or a class. */
  #marked(depth: number): Json {
    if (this.#matched(ENUM) === undefined) {
      if (this.#matched(OPAQUE) === undefined) throw new NotALiteral()
      return null
    }
    const value = this.value(depth + 1)
    if (!this.#takes('>')) throw new NotALiteral()
    return value
  }

  /** The fields of an object, or the values that it was created from: `UUID('…')`, `datetime.date(2026, 1, 15)`. */
  #constructed(begin: number, name: string, depth: number): Json {
    if (this.#next() === ')' || FIELD.test(this.#text.slice(this.#at, this.#at + MAX_FIELD_LENGTH))) {
      return this.fields(')', depth)
    }
    const values = this.#list(')', depth)
    if (values.length === 1) return values[0] ?? null
    return /\b(?:date|datetime)\($/.test(name) ? isoTime(values) : this.#text.slice(begin, this.#at)
  }

  /** Fields such as `role='user', text='hi'`, up to the closing bracket. Leaves out nulls. */
  fields(closing: string, depth = 0): Json {
    const fields: [string, Json][] = []
    while (closing === '' ? !this.isAtEnd() : !this.#takes(closing)) {
      this.#skipSpace()
      const field = this.#matched(FIELD_NAME)
      if (field === undefined) throw new NotALiteral()
      this.#skipSpace()
      const bare = this.#matched(BARE)
      const value = bare ?? this.value(depth + 1)
      if (value !== null) fields.push([field.replace(/^_|(?:=|: )$/g, ''), value])
      if (!this.#takes(',') && closing !== '' && this.#next() !== closing) throw new NotALiteral()
    }
    return objectValue(fields)
  }

  #matched(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0]
    this.#at += found?.length ?? 0
    return found
  }

  #list(closing: string, depth: number): Json[] {
    const items: Json[] = []
    while (!this.#takes(closing)) {
      items.push(this.value(depth + 1))
      if (!this.#takes(',') && this.#next() !== closing) throw new NotALiteral()
    }
    return items
  }

  #dict(depth: number): Json {
    const fields: [string, Json][] = []
    this.#at++
    while (!this.#takes('}')) {
      const key = this.value(depth + 1)
      if (typeof key === 'object' || !this.#takes(':')) throw new NotALiteral()
      fields.push([String(key), this.value(depth + 1)])
      if (!this.#takes(',') && this.#next() !== '}') throw new NotALiteral()
    }
    return objectValue(fields)
  }

  #string(quote: string): string {
    const parts: string[] = []
    let start = ++this.#at
    for (;;) {
      const character = this.#text.charAt(this.#at)
      if (character === '') throw new NotALiteral()
      if (character === quote) break
      if (character !== '\\') {
        this.#at++
        continue
      }
      parts.push(this.#text.slice(start, this.#at), this.#escape())
      start = this.#at
    }
    parts.push(this.#text.slice(start, this.#at++))
    return parts.join('')
  }

  #escape(): string {
    const letter = this.#text.charAt(this.#at + 1)
    const digits = { x: 2, u: 4, U: 8 }[letter]
    if (digits === undefined) {
      this.#at += 2
      return ESCAPES.get(letter) ?? letter
    }
    const hex = this.#text.slice(this.#at + 2, this.#at + 2 + digits)
    const code = /^[0-9a-f]+$/i.test(hex) && hex.length === digits ? Number.parseInt(hex, 16) : Number.NaN
    if (!(code <= 0x10ffff) || (code >= 0xd800 && code <= 0xdfff)) throw new NotALiteral()
    this.#at += 2 + digits
    return String.fromCodePoint(code)
  }

  #word(): Json {
    const found = this.#matched(WORD) ?? ''
    const known = WORDS.get(found)
    if (known !== undefined) return known
    const number = /^[-+]?(?:\d|\.\d)/.test(found) ? Number(found) : Number.NaN
    if (!Number.isFinite(number)) throw new NotALiteral()
    return number
  }

  #next(): string {
    this.#skipSpace()
    return this.#text.charAt(this.#at)
  }

  #takes(character: string): boolean {
    if (this.#next() !== character) return false
    this.#at++
    return true
  }

  #skipSpace(): void {
    while (/\s/.test(this.#text.charAt(this.#at))) this.#at++
  }
}
