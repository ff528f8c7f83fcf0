import type { Json } from '../../domain/json.ts'
import { MAX_JSON_DEPTH } from '../../limits.ts'
import { objectValue } from './values.ts'

/*
 * Values that Python printed: `{'order': 7, 'paid': None}`. Frameworks pass a tool's arguments and result through
 * `str()`, which isn't JSON.
 */

/** Parses a printed dict, list, or tuple. Undefined if the text is anything else, such as an object's own form. */
export function pythonLiteral(text: string): Json | undefined {
  if (!/^\s*[[{(]/.test(text)) return undefined
  const parser = new Parser(text)
  try {
    const value = parser.value(0)
    return parser.isAtEnd() ? value : undefined
  } catch (error) {
    if (error instanceof NotALiteral) return undefined
    throw error
  }
}

/**
 * Whether a text is how Python prints an object: `<Node object at 0x7f00>`, `[Message(id='1', ...)]`. Such a text isn't
 * content: nobody wrote it for a reader.
 */
export const isPrintedObject = (text: string): boolean =>
  /^\s*\[?<[\w.]{1,200}(?: object at 0x|\(|: )/.test(text) ||
  /^\s*\[?[A-Z]\w{2,100}\([a-z_]\w{0,100}=/.test(text) ||
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
    if (closing !== undefined) return this.#list(closing, depth)
    if (start === "'" || start === '"') return this.#string(start)
    return this.#word()
  }

  #list(closing: string, depth: number): Json[] {
    const items: Json[] = []
    this.#at++
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
    const word = /[\w.+-]{1,400}/y
    word.lastIndex = this.#at
    const found = word.exec(this.#text)?.[0] ?? ''
    this.#at += found.length
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
