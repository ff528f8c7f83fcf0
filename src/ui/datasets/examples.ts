import type { Json } from '../api/wire.ts'
import { parsedJson } from '../review/json-text.ts'

/** An example to import. `place` says where the example is in the text: `Line 3`. */
export interface NewExample {
  place: string
  value: { [field: string]: Json }
}

/** What's wrong with the pasted text, and where. The field is '' if the example as a whole is wrong. */
export interface ExampleFault {
  place: string
  field: string
  message: string
}

const FIELDS = ['id', 'input', 'expected', 'state', 'metadata']
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Reads examples from a JSON array, a single object, or lines of JSON. */
export function readExamples(text: string): { examples: NewExample[]; faults: ExampleFault[] } {
  const read = isWhole(text) ? readWhole(text) : readLines(text)
  const faults = read.flatMap(part =>
    'fault' in part
      ? [{ place: part.place, field: '', message: part.fault }]
      : faultsIn(part.value).map(fault => ({ place: part.place, ...fault })),
  )
  const examples = read.flatMap(part =>
    'value' in part && isObject(part.value) ? [{ place: part.place, value: part.value }] : [],
  )
  return { examples, faults }
}

type ReadPart = { place: string } & ReturnType<typeof parsedJson>

/** Whether the text is a single JSON value, rather than a value on each line. */
const isWhole = (text: string): boolean =>
  text.trimStart().startsWith('[') || (text.trim().includes('\n') && 'value' in parsedJson(text))

function readWhole(text: string): ReadPart[] {
  const read = parsedJson(text)
  if ('fault' in read) return [{ place: 'JSON', ...read }]
  const values = Array.isArray(read.value) ? read.value : [read.value]
  return values.map((value, index) => ({ place: `Example ${index + 1}`, value }))
}

const readLines = (text: string): ReadPart[] =>
  text
    .split('\n')
    .flatMap((line, index) => (line.trim() === '' ? [] : [{ place: `Line ${index + 1}`, ...parsedJson(line) }]))

const isObject = (value: Json): value is { [field: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function faultsIn(value: Json): Omit<ExampleFault, 'place'>[] {
  if (!isObject(value)) return [{ field: '', message: 'must be an object with input and expected' }]
  const { id, input, expected, state, metadata } = value
  const rules: [field: string, isMet: boolean, message: string][] = [
    ['id', id === undefined || (typeof id === 'string' && UUID.test(id)), 'must be a UUID'],
    ['input', input !== undefined, 'is required'],
    ['expected', expected !== undefined, 'is required'],
    ['state', state === undefined || isObject(state), 'must be an object'],
    ['metadata', metadata === undefined || isObject(metadata), 'must be an object'],
    ...Object.keys(value).map(
      field => [field, FIELDS.includes(field), "isn't a recognized field"] as [string, boolean, string],
    ),
  ]
  return rules.flatMap(([field, isMet, message]) => (isMet ? [] : [{ field, message }]))
}
