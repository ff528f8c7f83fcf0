import { isJsonObject, type Json, type JsonObject } from '../../../domain/json.ts'
import type { Step } from '../../../domain/subject.ts'
import { spend } from '../../effort.ts'
import type { Finding } from '../../finding.ts'
import { type Fact, isSameFact, termsOfValue } from '../../text/terms.ts'
import { isNothing } from '../difference.ts'
import type { Scene } from '../scene.ts'
import { leavesOf, quote, readingsOf, type Source } from '../sources.ts'
import type { Tool } from '../tools.ts'

/** What was seen of one argument of a call. */
type Argument = Pick<Finding, 'kind' | 'path' | 'note'>

/** An argument that is no argument of the tool, or of another type or format than is said. */
export function argumentFault({ input }: Step, tool: Tool): Argument | undefined {
  const kind = 'arguments_break_description'
  const described = Object.entries(tool.arguments)
  if (!isJsonObject(input) || described.length === 0) return undefined
  for (const [field, value] of Object.entries(input)) {
    const said = tool.arguments[field]
    const path = `input.${field}`
    if (said === undefined) return { kind, path, note: `is no argument of ${tool.name}` }
    const format = /[YMDjahmst]{2,4}([-/.])[YMDjahmst]{2}\1[YMDjahmst]{2,4}/u.exec(said)?.[0]
    if (format && typeof value === 'string' && !fitsFormat(value, format))
      return { kind, path, note: `is ${quote(value)}, where ${tool.name} wants ${format}` }
    if (/integer|number|cents|\bint\b/iu.test(said) && typeof value === 'string')
      return { kind, path, note: `is the text ${quote(value)}, where ${tool.name} wants ${said}` }
    if (/^string|text/iu.test(said) && typeof value === 'number')
      return { kind, path, note: `is the number ${value}, where ${tool.name} wants ${said}` }
  }
  const missing = described.find(([field, said]) => !(field in input) && !/optional|\?|default/iu.test(said + field))
  return missing && described.length > 1
    ? { kind, path: `input.${missing[0]}`, note: `is missing in the call of ${tool.name}` }
    : undefined
}

/** `MM/DD/YYYY`: digits and separators must stand alike, and a month is at most 12. */
function fitsFormat(value: string, format: string): boolean {
  if (value.replace(/\d/gu, '0') !== format.replace(/\p{L}/gu, '0')) return false
  const month = format.search(/M/u)
  return month < 0 || Number(value.slice(month, month + 2)) <= 12
}

/** An argument that an earlier step or the request has otherwise, under the same name; or a word of it that stands nowhere before. */
export function oddArgument(step: Step, { sources }: Scene): Argument | undefined {
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
      const note = `is ${quote(leaf)}, while ${other[0]} has ${quote(other[1])}`
      return { kind: 'argument_differs', path, note }
    }
    const unknown = facts.find(
      ({ kind, readings }) => (kind === 'identifier' || kind === 'address') && !knows(before, readings),
    )
    if (unknown)
      return { kind: 'argument_unfounded', path, note: `holds "${unknown.text}", which nothing before it does` }
  }
  return undefined
}

/** The first of one or two places that have another value under the argument's name, where none before has its own. */
function otherValue(path: string, fact: Fact | undefined, before: readonly Source[]): [string, Json] | undefined {
  const field = /(?<![^.[\]])([^.[\]]+)$/u.exec(path)?.[1] ?? ''
  if (!fact || field.length < 2 || knows(before, fact.readings)) return undefined
  const same = before.flatMap(source => leavesNamed(field, source))
  spend(before.length + same.length)
  return same.length <= 2 && same.every(([, value]) => !hasFact(value, fact)) ? same[0] : undefined
}

/** The leaves of a source that have this name, with their paths. */
function leavesNamed(field: string, source: Source): readonly [path: string, leaf: Json][] {
  const known = leavesByName.get(source) ?? Map.groupBy(leavesOf(source.value, source.path), ([path]) => nameOf(path))
  leavesByName.set(source, known)
  return known.get(field) ?? []
}

/** By source: each argument of each call is looked up in all of them. */
const leavesByName = new WeakMap<Source, ReadonlyMap<string, readonly [path: string, leaf: Json][]>>()

const nameOf = (path: string): string => /\.([^.[\]]+)$/u.exec(path)?.[1] ?? ''

/** Whether a source of another step came before a step: the root's is there from the start, but for its output. */
const isBefore = ({ path, step: owner }: Source, step: Step): boolean =>
  owner !== null && (owner.isRoot ? path !== 'output' : owner.timestamp < step.timestamp)

/** An argument that the call's own answer repeats as another value: a day for a month, or a hundredth. */
export function otherEcho(step: Step, { sources }: Scene): Argument | undefined {
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

/** A date of two readings of which the answer has the one, and what came before the other. */
function otherDate(
  { kind, readings, text }: Fact,
  answered: ReadonlySet<string>,
  before: readonly Source[],
): string | undefined {
  if (kind !== 'date' || readings.length < 2) return undefined
  const taken = readings.find(reading => answered.has(reading))
  const meant = readings.find(reading => reading !== taken && knows(before, [reading]))
  if (!taken || !meant || knows(before, [taken])) return undefined
  return `is "${text}", which was taken for ${taken.slice(2)} and meant ${meant.slice(2)}`
}

/** Powers of ten by which units of one thing differ: cents, per mille. */
const SCALES = [0.01, 100, 0.001, 1000]

function otherScale({ kind, readings }: Fact, answered: ReadonlySet<string>): string | undefined {
  const number = kind === 'number' ? Number(readings[0]?.slice(2)) : 0
  if (number < 10 || answered.has(`n:${number}`)) return undefined
  const scaled = SCALES.map(scale => number * scale).find(value => answered.has(`n:${Math.round(value * 1e6) / 1e6}`))
  return scaled === undefined ? undefined : `is ${number}, which was taken for ${scaled}`
}

/** What has more is no call that somebody wrote. */
const MAX_ARGUMENTS = 20

/** Two arguments of which each has the value that one record before gives to the other. */
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
      const held = given.get(field)
      if (held === undefined || held === value) continue
      const other = fields.find(([name, item]) => name !== field && item === held && given.get(name) === value)
      if (!other) continue
      const note = `and ${other[0]} are swapped: ${quote(value)} was given as ${other[0]}`
      return { kind: 'call_took_other_value', path: `input.${field}`, note }
    }
  }
  return undefined
}

/** Fields of a record that are looked through. */
const MAX_FIELDS = 50

/** A record's field under this name, or a longer or shorter form of it. */
function fieldIn(record: JsonObject, name: string): Json | undefined {
  for (const key of Object.keys(record).slice(0, MAX_FIELDS)) {
    if (key.startsWith(name) || (key.length >= 3 && name.startsWith(key))) return record[key]
  }
  return undefined
}

function knows(sources: readonly Source[], readings: readonly string[]): boolean {
  spend(1 + sources.length)
  return sources.some(source => readings.some(reading => source.readings.has(reading)))
}

const hasFact = (value: Json, fact: Fact): boolean => termsOfValue(value).facts.some(other => isSameFact(other, fact))
