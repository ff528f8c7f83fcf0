import { isJsonObject, type Json, type JsonObject } from '../../../domain/json.ts'
import type { Step } from '../../../domain/subject.ts'
import { spend } from '../../effort.ts'
import type { Finding } from '../../finding.ts'
import { type Fact, isSameFact, termsOfValue } from '../../text/terms.ts'
import { isNothing } from '../difference.ts'
import type { Scene } from '../scene.ts'
import { leavesOf, quote, readingsOf, type Source } from '../sources.ts'
import type { Tool } from '../tools.ts'

/** An observation about one argument of a call. */
type Argument = Pick<Finding, 'kind' | 'path' | 'note'>

/**
 * Finds an argument that the tool doesn't take, whose type or format doesn't match its description, or that is missing.
 */
export function argumentFault({ input }: Step, tool: Tool): Argument | undefined {
  const kind = 'arguments_break_description'
  const described = Object.entries(tool.arguments)
  if (!isJsonObject(input) || described.length === 0) return undefined
  for (const [field, value] of Object.entries(input)) {
    const description = tool.arguments[field]
    const path = `input.${field}`
    if (description === undefined) return { kind, path, note: `is not an argument of ${tool.name}` }
    const format = /[YMDjahmst]{2,4}([-/.])[YMDjahmst]{2}\1[YMDjahmst]{2,4}/u.exec(description)?.[0]
    if (format && typeof value === 'string' && !fitsFormat(value, format))
      return { kind, path, note: `is ${quote(value)}, but ${tool.name} expects ${format}` }
    if (/integer|number|cents|\bint\b/iu.test(description) && typeof value === 'string')
      return { kind, path, note: `is the text ${quote(value)}, but ${tool.name} expects ${description}` }
    if (/^string|text/iu.test(description) && typeof value === 'number')
      return { kind, path, note: `is the number ${value}, but ${tool.name} expects ${description}` }
  }
  const missing = described.find(
    ([field, description]) => !(field in input) && !/optional|\?|default/iu.test(description + field),
  )
  return missing && described.length > 1
    ? { kind, path: `input.${missing[0]}`, note: `is missing from the call to ${tool.name}` }
    : undefined
}

/** Whether a date has the format's digits and separators, such as `MM/DD/YYYY`, and a month of at most 12. */
function fitsFormat(value: string, format: string): boolean {
  if (value.replace(/\d/gu, '0') !== format.replace(/\p{L}/gu, '0')) return false
  const month = format.search(/M/u)
  return month < 0 || Number(value.slice(month, month + 2)) <= 12
}

/**
 * Finds an argument whose name has a different value in the request or an earlier step, or that contains an identifier
 * or address that appears nowhere earlier.
 */
export function suspiciousArgument(step: Step, { sources }: Scene): Argument | undefined {
  spend(2 * sources.length)
  const before = sources.filter(
    source =>
      source.step?.stepId !== step.stepId &&
      source.kind !== 'prompt' &&
      !/tool|function/iu.test(source.path) &&
      isBefore(source, step),
  )
  if (!before.some(({ kind }) => kind === 'input' || kind === 'output')) return undefined
  for (const [path, leaf] of leavesOf(step.input, 'input')) {
    if (leaf === null || typeof leaf === 'boolean') continue
    const { facts } = termsOfValue(leaf)
    const other = otherValue(path, facts[0], before)
    if (other) {
      const note = `is ${quote(leaf)}, but ${other[0]} is ${quote(other[1])}`
      return { kind: 'argument_differs', path, note }
    }
    const unknown = facts.find(
      ({ kind, readings }) => (kind === 'identifier' || kind === 'address') && !hasReading(before, readings),
    )
    if (unknown)
      return { kind: 'argument_unsupported', path, note: `contains "${unknown.text}", which appears nowhere before it` }
  }
  return undefined
}

/**
 * An earlier place where a field of the same name has a different value. Undefined if the argument's value appears
 * anywhere earlier, or if more than two places have such a field.
 */
function otherValue(path: string, fact: Fact | undefined, before: readonly Source[]): [string, Json] | undefined {
  const field = /(?<![^.[\]])([^.[\]]+)$/u.exec(path)?.[1] ?? ''
  if (!fact || field.length < 2 || hasReading(before, fact.readings)) return undefined
  const same = before.flatMap(source => leavesNamed(field, source))
  spend(before.length + same.length)
  return same.length <= 2 && same.every(([, value]) => !hasFact(value, fact)) ? same[0] : undefined
}

/** The source's scalar values under a field of this name, with their paths. */
function leavesNamed(field: string, source: Source): readonly [path: string, leaf: Json][] {
  const known = leavesByName.get(source) ?? Map.groupBy(leavesOf(source.value, source.path), ([path]) => nameOf(path))
  leavesByName.set(source, known)
  return known.get(field) ?? []
}

/** Cached by source, because each argument of each call is looked up in every source. */
const leavesByName = new WeakMap<Source, ReadonlyMap<string, readonly [path: string, leaf: Json][]>>()

const nameOf = (path: string): string => /\.([^.[\]]+)$/u.exec(path)?.[1] ?? ''

/**
 * Whether another step's source came before a step. The root's content exists from the start, except for its output.
 */
const isBefore = ({ path, step: owner }: Source, step: Step): boolean =>
  owner !== null && (owner.isRoot ? path !== 'output' : owner.timestamp < step.timestamp)

/**
 * Finds an argument that the call's result repeats with a different value: with day and month swapped, for example, or
 * divided by 100.
 */
export function misreadArgument(step: Step, { sources }: Scene): Argument | undefined {
  const answered = readingsOf(termsOfValue(step.output).facts)
  spend(2 * sources.length)
  const before = sources.filter(source => source.step !== step && source.kind !== 'metadata' && isBefore(source, step))
  for (const [path, leaf] of leavesOf(step.input, 'input')) {
    for (const fact of termsOfValue(leaf).facts) {
      spend(5)
      const note = otherDate(fact, answered, before) ?? otherScale(fact, answered)
      if (note !== undefined) return { kind: 'call_took_other_value', path, note }
    }
  }
  return undefined
}

/** Describes a date that can be read in two ways: the result has one reading, and earlier content has the other. */
function otherDate(
  { kind, readings, text }: Fact,
  answered: ReadonlySet<string>,
  before: readonly Source[],
): string | undefined {
  if (kind !== 'date' || readings.length < 2) return undefined
  const taken = readings.find(reading => answered.has(reading))
  const meant = readings.find(reading => reading !== taken && hasReading(before, [reading]))
  if (!taken || !meant || hasReading(before, [taken])) return undefined
  return `is "${text}", which was read as ${taken.slice(2)} but means ${meant.slice(2)}`
}

/** Factors between common units, such as dollars and cents, or fractions and per mille. */
const SCALES = [0.01, 100, 0.001, 1000]

function otherScale({ kind, readings }: Fact, answered: ReadonlySet<string>): string | undefined {
  const number = kind === 'number' ? Number(readings[0]?.slice(2)) : 0
  if (number < 10 || answered.has(`n:${number}`)) return undefined
  const scaled = SCALES.map(scale => number * scale).find(value => answered.has(`n:${Math.round(value * 1e6) / 1e6}`))
  return scaled === undefined ? undefined : `is ${number}, which was read as ${scaled}`
}

/** An object with more fields is data and not the arguments of a call. */
const MAX_ARGUMENTS = 20

/** Finds two swapped arguments: each has the value that the other has in an earlier record. */
export function swappedArgument(step: Step, { sources }: Scene): Argument | undefined {
  if (!isJsonObject(step.input)) return undefined
  spend(sources.length)
  const records = sources.flatMap(({ kind, value, step: owner }) =>
    owner !== step && (kind === 'input' || kind === 'output' || kind === 'state') && isJsonObject(value) ? [value] : [],
  )
  const fields = Object.entries(step.input)
    .filter(([, value]) => !isNothing(value) && typeof value !== 'object')
    .slice(0, MAX_ARGUMENTS)
  if (fields.length < 2) return undefined
  for (const record of records) {
    spend(fields.length * MAX_FIELDS)
    const given = new Map(fields.map(([name]) => [name, fieldIn(record, name)]))
    for (const [field, value] of fields) {
      const known = given.get(field)
      if (known === undefined || known === value) continue
      const other = fields.find(([name, item]) => name !== field && item === known && given.get(name) === value)
      if (!other) continue
      const note = `is ${quote(value)}, but an earlier record has that value in ${other[0]}: the two are swapped`
      return { kind: 'call_took_other_value', path: `input.${field}`, note }
    }
  }
  return undefined
}

/** How many fields of a record to search. */
const MAX_FIELDS = 50

/** The value of a record's field with this name or a longer or shorter form of it. */
function fieldIn(record: JsonObject, name: string): Json | undefined {
  for (const key of Object.keys(record).slice(0, MAX_FIELDS)) {
    if (key.startsWith(name) || (key.length >= 3 && name.startsWith(key))) return record[key]
  }
  return undefined
}

function hasReading(sources: readonly Source[], readings: readonly string[]): boolean {
  spend(1 + sources.length)
  return sources.some(source => readings.some(reading => source.readings.has(reading)))
}

const hasFact = (value: Json, fact: Fact): boolean => termsOfValue(value).facts.some(other => isSameFact(other, fact))
