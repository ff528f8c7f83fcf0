import {
  MAX_EVALUATOR_PATH_BYTES,
  MAX_JUDGED_FIELDS,
  MAX_JUDGED_LEAVES,
  MAX_SHOWN_DIFFERENCES,
  MAX_STRICT_LENGTH,
  PREVIEW_BYTES,
} from '../limits.ts'
import type { Enumerated } from './enumerated.ts'
import { type Evaluator, escapeStep, type Rule, Rules } from './evaluator.ts'
import { isJsonObject, type Json, type JsonObject } from './json.ts'
import { cutText, utf8Length } from './text.ts'

/** A candidate's possible outcomes on an item. `error` means that there is no output. */
export const OUTCOMES = ['passed', 'failed', 'unjudged', 'error'] as const
export type Outcome = (typeof OUTCOMES)[number]

/** A part of an output that differs from the expected value. If one side lacks the part, that side is absent. */
interface Difference {
  /** A path as in an evaluator. '' is the whole output. */
  path: string
  expected?: Json
  actual?: Json
}

/** Whether a field agrees. Items of an array are one field: `items.*.price`. */
export interface FieldAgreement {
  path: string
  agrees: boolean
}

/** The judgment of a candidate's output. */
export interface Judgment {
  outcome: 'passed' | 'failed' | 'unjudged'
  /** The first parts that differ. A value over 256 bytes as JSON is shown as the beginning of its JSON. */
  difference: Difference[]
  /** The first fields, and all later ones combined as `REST_OF_FIELDS`. */
  fields: FieldAgreement[]
  /** The share of the compared leaves that agree, 0 to 1. */
  share: number
}

/** The path under which fields beyond a limit are added up. */
export const REST_OF_FIELDS = '_rest'

/**
 * Judges a candidate's output against the values that people have approved (at least one). It passes if it agrees with
 * any of them. Otherwise it's `failed` if it differs from each of them in something that has one right form (a number,
 * a boolean, null, a string in the schema's `enum` or `const`, a string of at most 64 characters without whitespace, a
 * type, or a part that's missing), and `unjudged` if it differs from at least one of them only in free text: two
 * strings may say the same thing, so only a person can tell. One such value is enough, because each of them alone would
 * be right.
 *
 * The expected value determines which form a part has: "Yes" is strict, even if the candidate says it in a sentence. A
 * string that's empty or missing differs strictly, because it says nothing. A part that only the candidate has is
 * judged by its own value. Absent isn't null, items are compared in order, and the order of fields doesn't matter.
 * Whether free text must be the same to the letter (`exact`) or not (`text`) is up to the evaluator, but a difference
 * in it is never a failure.
 *
 * The difference, fields, and share come from the nearest expected value: the one with the best outcome, then the one
 * with the highest share. Takes linear time. Leaves beyond a limit aren't compared, and an output with more leaves
 * doesn't pass.
 */
export function judge(
  actual: Json,
  expected: readonly Json[],
  { evaluator, schema }: { evaluator: Evaluator; schema?: Enumerated | undefined },
): Judgment {
  let nearest: Judgment | undefined
  for (const value of expected) {
    const comparison = new Comparison()
    comparison.compare({ expected: value, actual, rules: Rules.of(evaluator), schema, path: '', field: '' })
    const judgment = comparison.judgment
    if (judgment.outcome === 'passed') return judgment
    if (!nearest || isNearer(judgment, nearest)) nearest = judgment
  }
  if (!nearest) throw new Error('an item has at least one expected value')
  return nearest
}

const isNearer = (one: Judgment, other: Judgment): boolean =>
  one.outcome === other.outcome ? one.share > other.share : one.outcome === 'unjudged'

/** A part of two values to compare. At least one of them has it. */
interface Part {
  expected: Json | undefined
  actual: Json | undefined
  rules: Rules
  schema: Enumerated | undefined
  path: string
  /** The path with `*` for indexes, or `REST_OF_FIELDS` if that would be too long. */
  field: string
}

/** Compares an output with one expected value. The values nest at most 128 levels, which bounds the recursion. */
class Comparison {
  readonly #difference: Difference[] = []
  readonly #fields = new Map<string, boolean>()
  #leaves = 0
  #agreeing = 0
  #isStrict = false
  #isPartial = false

  get judgment(): Judgment {
    const agrees = this.#agreeing === this.#leaves && !this.#isPartial
    return {
      outcome: agrees ? 'passed' : this.#isStrict ? 'failed' : 'unjudged',
      difference: this.#difference,
      fields: [...this.#fields].map(([path, agrees]) => ({ path, agrees })),
      share: this.#leaves === 0 ? 1 : this.#agreeing / this.#leaves,
    }
  }

  compare(part: Part): void {
    if (this.#isPartial || part.rules.isIgnored) return
    const { expected, actual } = part
    const lists = bothAs<Json[]>(Array.isArray, expected, actual, [])
    const objects = bothAs(isJsonObject, expected, actual, {})
    if (lists) this.#compareItems(part, ...lists)
    else if (objects) this.#compareFields(part, ...objects)
    else this.#compareLeaf(part)
  }

  #compareItems(part: Part, expected: readonly Json[], actual: readonly Json[]): void {
    const length = Math.max(expected.length, actual.length)
    const field = innerPath(part.field, '*')
    for (let index = 0; index < length && !this.#isPartial; index++) {
      this.compare({
        expected: expected[index],
        actual: actual[index],
        rules: part.rules.within(String(index)),
        schema: part.schema?.item(index),
        path: joined(part.path, String(index)),
        field,
      })
    }
  }

  #compareFields(part: Part, expected: JsonObject, actual: JsonObject): void {
    const names = Object.keys(expected)
    for (const name of Object.keys(actual)) if (!Object.hasOwn(expected, name)) names.push(name)
    for (const name of names) {
      const step = escapeStep(name)
      this.compare({
        expected: own(expected, name),
        actual: own(actual, name),
        rules: part.rules.within(name),
        schema: part.schema?.field(name),
        path: joined(part.path, step),
        field: innerPath(part.field, step),
      })
    }
  }

  #compareLeaf({ expected, actual, rules: { rule }, schema, path, field }: Part): void {
    if (rule.type === 'ignore') return
    if (this.#leaves === MAX_JUDGED_LEAVES) {
      this.#isPartial = true
      return
    }
    this.#leaves++
    const agrees = isAgreement(expected, actual, rule, schema)
    this.#note(field, agrees)
    if (agrees) {
      this.#agreeing++
      return
    }
    this.#isStrict ||= isStrictDifference(expected, actual, schema)
    if (this.#difference.length === MAX_SHOWN_DIFFERENCES) return
    this.#difference.push({
      path: cutText(path, MAX_EVALUATOR_PATH_BYTES),
      ...(expected !== undefined && { expected: preview(expected) }),
      ...(actual !== undefined && { actual: preview(actual) }),
    })
  }

  #note(field: string, agrees: boolean): void {
    const isListed = this.#fields.has(field) || this.#fields.size < MAX_JUDGED_FIELDS
    const path = isListed ? field : REST_OF_FIELDS
    this.#fields.set(path, agrees && this.#fields.get(path) !== false)
  }
}

/**
 * Both values if they're of the same kind. If one value is missing and the other has parts, the missing value counts as
 * one without parts, so that it lacks each of those parts.
 */
function bothAs<Kind extends object>(
  isKind: (value: unknown) => value is Kind,
  expected: Json | undefined,
  actual: Json | undefined,
  none: Kind,
): [Kind, Kind] | undefined {
  if (isKind(expected) && isKind(actual)) return [expected, actual]
  if (expected === undefined && isKind(actual) && Object.keys(actual).length > 0) return [none, actual]
  if (actual === undefined && isKind(expected) && Object.keys(expected).length > 0) return [expected, none]
  return undefined
}

const own = (object: JsonObject, name: string): Json | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined

const joined = (path: string, step: string): string => (path === '' ? step : `${path}.${step}`)

/** The path of a field, unless it's too long to store. */
function innerPath(field: string, step: string): string {
  const length = field.length + step.length
  return field === REST_OF_FIELDS || length >= MAX_EVALUATOR_PATH_BYTES ? REST_OF_FIELDS : joined(field, step)
}

function isAgreement(
  expected: Json | undefined,
  actual: Json | undefined,
  rule: Rule,
  schema: Enumerated | undefined,
): boolean {
  if (expected === actual) return true
  if (typeof expected === 'string' && typeof actual === 'string') {
    const isExact = rule.type === 'exact' || (rule.type !== 'text' && schema?.isEnumerated)
    return !isExact && normalized(expected) === normalized(actual)
  }
  if (typeof expected === 'number' && typeof actual === 'number' && rule.type === 'number') {
    return isWithin(rule.tolerance ?? 0, expected, actual)
  }
  return false
}

/** A string without differences in whitespace and case. Other Unicode equivalents stay different. */
const normalized = (text: string): string => text.trim().replace(/\s+/g, ' ').toLowerCase()

/**
 * Whether two numbers are at most `tolerance` apart. Decimal fractions aren't exact in binary: 1.01 − 1 is more than
 * 0.01. So fractions get a margin of a few rounding errors. Whole numbers are exact and get none.
 */
export function isWithin(tolerance: number, left: number, right: number): boolean {
  const isWhole = Number.isInteger(left) && Number.isInteger(right)
  const margin = isWhole ? 0 : 4 * Number.EPSILON * Math.max(Math.abs(left), Math.abs(right))
  return Math.abs(left - right) <= tolerance + margin
}

function isStrictDifference(
  expected: Json | undefined,
  actual: Json | undefined,
  schema: Enumerated | undefined,
): boolean {
  const decisive = expected === undefined ? actual : expected
  if (typeof decisive !== 'string' || isStrictString(decisive, schema)) return true
  return expected !== undefined && (typeof actual !== 'string' || actual.trim() === '')
}

/** Whether a string has one right form. Lengths are in code points. */
const isStrictString = (value: string, schema: Enumerated | undefined): boolean =>
  schema?.isEnumerated ||
  (value.length <= 2 * MAX_STRICT_LENGTH && !/\s/.test(value) && [...value].length <= MAX_STRICT_LENGTH)

function preview(value: Json): Json {
  const json = JSON.stringify(value)
  return utf8Length(json) <= PREVIEW_BYTES ? value : cutText(json, PREVIEW_BYTES)
}
