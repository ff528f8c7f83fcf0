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

/** An argument that the tool doesn't have, or whose type or format differs from its description. */
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
    ? { kind, path: `input.${missing[0]}`, note: `is missing in the call to ${tool.name}` }
    : undefined
}

/** `MM/DD/YYYY`: digits and separators must be in the same positions, and a month is at most 12. */
function fitsFormat(value: string, format: string): boolean {
  if (value.replace(/\d/gu, '0') !== format.replace(/\p{L}/gu, '0')) return false
  const month = format.search(/M/u)
  return month < 0 || Number(value.slice(month, month + 2)) <= 12
}

/**
 * An argument whose name has another value in an earlier step or the request, or that contains a word found nowhere
 * before.
 */
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
      return { kind: 'argument_unfounded', path, note: `contains "${unknown.text}", which appears nowhere before it` }
  }
  return undefined
}

/**
 * One or two earlier places with another value under the argument's name, if no earlier place has the argument's own
 * value.
 */
function otherValue(path: string, fact: Fact | undefined, before: readonly Source[]): [string, Json] | undefined {
  const field = /(?<![^.[\]])([^.[\]]+)$/u.exec(path)?.[1] ?? ''
  if (!fact || field.length < 2 || knows(before, fact.readings)) return undefined
  const same = before.flatMap(source => leavesNamed(field, source))
  spend(before.length + same.length)
  return same.length <= 2 && same.every(([, value]) => !hasFact(value, fact)) ? same[0] : undefined
}

/** The leaves of a source with this name, and their paths. */
function leavesNamed(field: string, source: Source): readonly [path: string, leaf: Json][] {
  const known = leavesByName.get(source) ?? Map.groupBy(leavesOf(source.value, source.path), ([path]) => nameOf(path))
  leavesByName.set(source, known)
  return known.get(field) ?? []
}

/** Cached by source, because each argument of each call is looked up in all of them. */
const leavesByName = new WeakMap<Source, ReadonlyMap<string, readonly [path: string, leaf: Json][]>>()

const nameOf = (path: string): string => /\.([^.[\]]+)$/u.exec(path)?.[1] ?? ''

/**
 * Whether a source of another step came before a step. The root's content is there from the start, except its output.
 */
const isBefore = ({ path, step: owner }: Source, step: Step): boolean =>
  owner !== null && (owner.isRoot ? path !== 'output' : owner.timestamp < step.timestamp)

/** An argument that the call's own result repeats as another value: a day read as a month, or a hundredth. */
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

/** A date with two readings: the result has one, earlier content the other. */
function otherDate(
  { kind, readings, text }: Fact,
  answered: ReadonlySet<string>,
  before: readonly Source[],
): string | undefined {
  if (kind !== 'date' || readings.length < 2) return undefined
  const taken = readings.find(reading => answered.has(reading))
  const meant = readings.find(reading => reading !== taken && knows(before, [reading]))
  if (!taken || !meant || knows(before, [taken])) return undefined
  return `is "${text}", which was read as ${taken.slice(2)} but meant ${meant.slice(2)}`
}

/** Factors between units of the same thing, such as dollars and cents, or one and per mille. */
const SCALES = [0.01, 100, 0.001, 1000]

function otherScale({ kind, readings }: Fact, answered: ReadonlySet<string>): string | undefined {
  const number = kind === 'number' ? Number(readings[0]?.slice(2)) : 0
  if (number < 10 || answered.has(`n:${number}`)) return undefined
  const scaled = SCALES.map(scale => number * scale).find(value => answered.has(`n:${Math.round(value * 1e6) / 1e6}`))
  return scaled === undefined ? undefined : `is ${number}, which was read as ${scaled}`
}

/** An object with more fields isn't a hand-written call. */
const MAX_ARGUMENTS = 20

/** Two swapped arguments: each has the value that an earlier record gives to the other. */
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
      const note = `and ${other[0]} are swapped: ${quote(value)} was given as ${other[0]}`
      return { kind: 'call_took_other_value', path: `input.${field}`, note }
    }
  }
  return undefined
}

/** How many fields of a record are searched. */
const MAX_FIELDS = 50

/** A record's field with this name, or with a longer or shorter form of it. */
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
