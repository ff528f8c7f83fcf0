import { bytesOf, isObject, itemsOf, type Json } from './json.ts'

/*
 * Previews of values in lists of traces, independent of the product's code, like the rest of the model. They're
 * computed from the beginnings of values, in which strings, lists, and objects may be incomplete.
 */

const MAX_INLINE_BYTES = 8 * 1024
const KEPT_BYTES = 4 * 1024
const READ_LENGTH = 4096
const MAX_INPUTS = 8
const MAX_LENGTH = 200

/** The preview of a span's inputs: the one in the span's own call, if any, and those observed, oldest first. */
export function inputPreview(own: readonly Json[], observed: readonly Json[]): string | null {
  const last = observed.slice(-MAX_INPUTS)
  const read = [...own.map(input => beginningOf(input)), ...last.map(input => beginningOf(input, last.length))]
  const merged = mergedInput(read.map(({ value }) => value))
  return lineAbout(
    merged,
    read.every(({ isWhole }) => isWhole),
  )
}

export function outputPreview(output: Json): string | null {
  const { value, isWhole } = beginningOf(output)
  return lineAbout(value, isWhole)
}

/** Combines several inputs into one. */
export function mergedInput(inputs: readonly Json[]): Json {
  if (inputs.length <= 1) return inputs[0] ?? null
  const objects = inputs.filter(isObject)
  return objects.length === inputs.length ? Object.fromEntries(objects.flatMap(Object.entries)) : [...inputs]
}

/** The only string in a value, or else the value as JSON. */
function lineAbout(value: Json, isWhole: boolean): string | null {
  if (value === null) return null
  let only: Json = value
  for (let [item, ...more] = itemsOf(only); item !== undefined && more.length === 0; [item, ...more] = itemsOf(only))
    only = item
  const text = typeof only === 'string' ? only : JSON.stringify(value)
  if (isWhole && text.length <= MAX_LENGTH) return text
  let line = ''
  for (const character of text) {
    if (line.length + character.length >= MAX_LENGTH) break
    line += character
  }
  return `${line}…`
}

/** The part of a value that is read if several values share the maximum length. */
function beginningOf(value: Json, sharing = 1): { value: Json; isWhole: boolean } {
  const json = JSON.stringify(value)
  const read = [...keptOf(json)].slice(0, Math.floor(READ_LENGTH / sharing)).join('')
  if (read === json) return { value, isWhole: true }
  for (let end = read.length; end > 0; end--) {
    const isInNumber = /[\d.]$/.test(read.slice(0, end)) && !/^[,\]}]/.test(read.slice(end))
    const parsed = isInNumber ? undefined : parse(closed(read.slice(0, end)))
    if (parsed !== undefined) return { value: parsed, isWhole: false }
  }
  return { value: null, isWhole: false }
}

/** The part of a value that lists can read. For a large value, it's the beginning. */
const keptOf = (json: string): string =>
  bytesOf(json) <= MAX_INLINE_BYTES
    ? json
    : new TextDecoder().decode(new TextEncoder().encode(json).slice(0, KEPT_BYTES)).replace(/\ufffd$/, '')

/** Closes the strings, lists, and objects that part of a JSON text leaves open. */
function closed(json: string): string {
  const [outside = '', ...string] = json.replaceAll(/"(?:\\.|[^"\\])*"/g, '').split('"')
  const closers: string[] = []
  for (const character of outside) {
    if (character === '{') closers.unshift('}')
    else if (character === '[') closers.unshift(']')
    else if (character === closers[0]) closers.shift()
  }
  return json + (string.length > 0 ? '"' : '') + closers.join('')
}

function parse(json: string): Json | undefined {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
