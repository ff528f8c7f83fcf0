import type { Json } from '../../domain/json.ts'
import {
  columnsIn,
  derive,
  deriveDate,
  deriveSpan,
  deriveTime,
  impliedAddend,
  impliedOperand,
  numbersIn,
} from '../arithmetic.ts'
import { isSlip } from '../difference.ts'
import type { Finding } from '../evidence.ts'
import type { Scene } from '../scene.ts'
import { type Source, supportOf } from '../sources.ts'
import { type Fact, plain, termsOf, termsOfValue } from '../terms.ts'

/** Whether the output's numbers and dates, or those that were put in their place, follow from what the step had. */
export function* checkComputation(scene: Scene): Generator<Finding> {
  const { dispute, origin, visible } = scene
  if (!dispute) return
  const pairs = pairsOf(scene)
  const values = visible.filter(({ kind }) => kind !== 'metadata').map(({ value }) => value)
  const prompt = scene.prompts.flatMap(({ value }) => numbersIn(value))
  const columns = values.flatMap(columnsIn)
  const known = [...values.flatMap(numbersIn), ...prompt]
  const at = { spanId: origin.spanId, path: 'output' }
  for (const { before, after } of pairs) {
    const inOutput = numbersIn(dispute.step.output)
    const inApproved =
      dispute.approved === undefined ? inOutput.filter(number => number !== before) : numbersIn(dispute.approved)
    const isGiven = (number: number | undefined) => number !== undefined && known.includes(number)
    // Where both were given, only the output's own numbers tell which one belongs to the others.
    const others = isGiven(before) && isGiven(after) ? [] : known
    const sums = isGiven(before) && isGiven(after) ? [] : columns
    const columnsOfApproved = columnsIn(dispute.approved ?? dispute.step.output)
    const dates = datesIn([...values, dispute.approved ?? null])
    const times = timesIn(values)
    const right =
      deriveSpan(after, dates, times) ??
      derive(after, [...inApproved, ...others], [...sums, ...columnsOfApproved], prompt)
    const wrong =
      before === undefined
        ? undefined
        : (deriveSpan(before, dates, times) ??
          derive(before, [...inOutput, ...others], [...sums, ...columnsIn(dispute.step.output)], prompt))
    const isFilled = before === undefined && dispute.approved !== undefined
    if (right && !wrong && !isFilled && !(isGiven(before) && !isGiven(after))) {
      yield { kind: 'correction_computes', ...at, note: `is off: ${after} is ${right.text}`, strength: 1 }
      return
    }
    if (right && isGiven(before) && !isGiven(after)) {
      yield {
        kind: 'input_does_not_add_up',
        ...at,
        note: `repeats ${before} as it was given, while ${after} is ${right.text}`,
        strength: 1,
      }
      return
    }
    if (wrong && !right && before !== undefined) {
      yield {
        kind: 'output_computes',
        ...at,
        note: `is right by the numbers: ${before} is ${wrong.text}, and ${after} is not`,
        strength: isGiven(after) ? 1 : 0.6,
      }
      return
    }
  }
  const turned = pairs.find(({ before, after }) => before !== undefined && before < 0 && after > 0)
  if (turned) {
    const note = `is ${turned.before}, below zero, where ${turned.after} is approved`
    yield { kind: 'result_impossible', ...at, note, strength: 1 }
  }
  const time = timeChange(scene)
  if (time) {
    const times = timesIn([...values, dispute.approved ?? null]).filter(other => other !== time.after)
    const right = deriveTime(time.after, times)
    const wrong = deriveTime(
      time.before,
      times.filter(other => other !== time.before),
    )
    if (right && !wrong)
      yield { kind: 'correction_computes', ...at, note: `is off: ${time.after} is ${right.text}`, strength: 1 }
    if (wrong && !right)
      yield {
        kind: 'output_computes',
        ...at,
        note: `is right by the clock: ${time.before} is ${wrong.text}`,
        strength: 0.6,
      }
  }
  const dates = dateChange(scene)
  if (dates) {
    const starts = datesIn(values)
    const right = deriveDate(dates.after, starts, [...known, ...numbersIn(dispute.approved ?? null)])
    const wrong = deriveDate(dates.before, starts, [...known, ...numbersIn(dispute.step.output)])
    if (right && !wrong)
      yield {
        kind: 'correction_computes',
        ...at,
        note: `is off: ${dates.after} follows from ${right.text}`,
        strength: 1,
      }
    if (wrong && !right)
      yield {
        kind: 'output_computes',
        ...at,
        note: `is right by the dates: ${dates.before} follows from ${wrong.text}`,
        strength: 0.5,
      }
  }
}

/** Whether a value that was given is a slip of the one that people say it should be: a digit, or the point, is out of place. */
export function* checkSlips(scene: Scene): Generator<Finding> {
  const { dispute, visible } = scene
  if (!dispute) return
  const approved = dispute.approved === undefined ? [] : (dispute.difference?.gained.facts ?? [])
  // What nobody took over did no harm; but a point that slipped shows by itself.
  const output = new Set(termsOfValue(dispute.step.output).facts.flatMap(({ readings }) => readings))
  const isHarmful = (slip: Fact, fact: Fact) =>
    slip.readings.some(reading => output.has(reading)) || isShifted(slip, fact)
  const said = [...approved, ...dispute.comments.flatMap(comment => termsOf(comment).facts)]
  const given = visible.filter(({ kind, step }) => kind === 'input' || (kind === 'state' && step?.isRoot))
  const impossible = given.flatMap(source =>
    source.terms.facts.flatMap(fact => (isImpossible(fact) ? [{ source, fact }] : [])),
  )[0]
  if (impossible) {
    const { source, fact } = impossible
    yield {
      kind: 'input_impossible',
      spanId: source.step?.spanId ?? null,
      path: source.path,
      note: `says "${fact.text}", a day that does not exist`,
      strength: 1,
    }
  }
  const replaced = impliedSlip(scene, given)
  if (replaced) {
    yield replaced
    return
  }
  const typo = typoIn(scene, given)
  if (typo) {
    yield typo
    return
  }
  for (const fact of said) {
    if (/^n:(19|20)\d\d$/.test(fact.readings[0] ?? '')) continue
    const isKnown = given.some(({ readings }) => fact.readings.some(reading => readings.has(reading)))
    if (isKnown || fact.text.length < 3) continue
    for (const source of given) {
      const slip = source.terms.facts.find(candidate => isSlipOf(candidate, fact) && isHarmful(candidate, fact))
      if (slip) {
        yield {
          kind: 'input_slip',
          spanId: source.step?.spanId ?? null,
          path: source.path,
          note: `says "${slip.text}", a slip away from "${fact.text}"`,
          strength: 1,
        }
        return
      }
    }
  }
}

/** A name, number or date that was taken as it was given, a letter or two away from the approved one. */
function typoIn({ dispute, visible }: Scene, given: readonly Source[]): Finding | undefined {
  for (const { before, after } of dispute?.difference?.changes ?? []) {
    const [wrong, right] = [before, after].map(value =>
      typeof value === 'string' || typeof value === 'number' ? String(value) : '',
    )
    if (!wrong || !right || wrong.length > 60 || !isSlip(plain(wrong), plain(right))) continue
    const isIn = (text: string) => (source: Source) => supportOf(termsOf(text), [source]).found > 0.9
    const source = given.find(isIn(wrong))
    if (source && !visible.some(isIn(right))) {
      return {
        kind: 'input_slip',
        spanId: source.step?.spanId ?? null,
        path: source.path,
        note: `says "${wrong}", a slip away from "${right}"`,
        strength: 1,
      }
    }
  }
  return undefined
}

/** A given number with which the output's computation comes to the approved result once a slip in it is mended. */
function impliedSlip(scene: Scene, given: readonly Source[]): Finding | undefined {
  for (const { before, after } of pairsOf(scene)) {
    if (before === undefined) continue
    for (const source of given) {
      const numbers = [...new Set(numbersIn(source.value))].slice(0, 60)
      const implied = [
        ...impliedOperand(before, after, numbers),
        ...columnsIn(source.value).flatMap(column => impliedAddend(before, after, column)),
      ]
      const slip = implied.find(({ operand, implied: right }) => isNumberSlip(operand, right))
      if (slip) {
        const note = `says ${slip.operand}; with ${slip.implied} the result would be the approved ${after}`
        return { kind: 'input_slip', spanId: source.step?.spanId ?? null, path: source.path, note, strength: 1 }
      }
    }
  }
  return undefined
}

/** A date in no calendar. */
function isImpossible({ kind, readings }: Fact): boolean {
  const [, date] = /^d:(\d{4}-\d{2}-\d{2})$/.exec(readings[0] ?? '') ?? []
  return (
    kind === 'date' &&
    readings.length === 1 &&
    date !== undefined &&
    new Date(`${date}T00:00:00Z`).toISOString().slice(0, 10) !== date
  )
}

/** Two numbers of which one became the other by a slipped point, or a digit too many, too few or wrong. */
function isNumberSlip(left: number, right: number): boolean {
  if (left <= 0 || right <= 0 || left === right) return false
  const ratio = left / right
  const mantissa = String(left)
    .replace(/^[0.]+|\.?0+$/gu, '')
    .replace('.', '')
  if (mantissa.length >= 2 && [0.001, 0.01, 0.1, 10, 100, 1000].some(power => Math.abs(ratio / power - 1) < 1e-9))
    return true
  const [text, other] = [String(left), String(right)]
  const digits = (number: string) => [...number].sort().join('')
  if (text.length >= 3 && digits(text) === digits(other)) return true
  const isDoubled =
    text.length !== other.length &&
    [...text].every(digit => other.includes(digit)) &&
    Math.abs(text.length - other.length) === 1
  return isDoubled || (text.length >= 4 && isSlip(text, other))
}

/** Whether one number is the other with its point elsewhere. */
function isShifted({ kind, readings }: Fact, right: Fact): boolean {
  const digits = (reading: string | undefined) => (reading ?? '').replace(/[^1-9]/g, '')
  return kind === 'number' && digits(readings[0]).length >= 2 && digits(readings[0]) === digits(right.readings[0])
}

function isSlipOf(given: Fact, right: Fact): boolean {
  if (given.kind !== right.kind) return false
  if (given.kind === 'number') {
    const [left, other] = [Number(given.readings[0]?.slice(2)), Number(right.readings[0]?.slice(2))]
    return isNumberSlip(left, other)
  }
  return given.kind === 'identifier' && isSlip(given.readings[0] ?? '', right.readings[0] ?? '')
}

/** Numbers that were changed; those that comments name stand for approved ones where there are none. */
function pairsOf({ dispute, origin }: Scene): { before: number | undefined; after: number }[] {
  const changed = (dispute?.difference?.changes ?? []).flatMap(({ before, after }) => {
    const [left, right] = [soleNumber(before), soleNumber(after)]
    return right !== undefined && left !== right ? [{ before: left, after: right }] : []
  })
  if (changed.length > 0 || dispute?.approved !== undefined) return changed
  const said = dispute?.comments.flatMap(comment => numbersIn(comment)) ?? []
  const outputs = numbersIn(origin.output)
  // The number of an output that is nearest to what somebody says.
  return said.flatMap(after => {
    if (outputs.includes(after)) return []
    const [before] = outputs.toSorted((left, right) => Math.abs(left - after) - Math.abs(right - after))
    return [{ before, after }]
  })
}

function soleNumber(value: Json | undefined): number | undefined {
  if (typeof value === 'number') return value
  const numbers = typeof value === 'string' ? numbersIn(value) : []
  return numbers.length === 1 ? numbers[0] : undefined
}

/** The one time of day, or length of time, that was changed. */
function timeChange({ dispute }: Scene): { before: string; after: string } | undefined {
  const { lost, gained } = dispute?.difference ?? {}
  const [before, after] = [lost, gained].map(terms => timesIn((terms?.facts ?? []).map(({ text }) => text)))
  return before?.length === 1 && after?.length === 1 && before[0] && after[0]
    ? { before: before[0], after: after[0] }
    : undefined
}

const timesIn = (values: readonly Json[]): string[] => [
  ...new Set(
    values.flatMap(value =>
      termsOfValue(value).facts.flatMap(({ kind, readings }) => (kind === 'time' ? (readings[0]?.slice(2) ?? []) : [])),
    ),
  ),
]

function dateChange({ dispute }: Scene): { before: string; after: string } | undefined {
  const { lost, gained } = dispute?.difference ?? {}
  const [before, after] = [lost, gained].map(terms => datesIn([...(terms?.facts ?? [])].map(({ text }) => text))[0])
  return before && after ? { before, after } : undefined
}

const datesIn = (values: readonly Json[]): string[] => [
  ...new Set(
    values.flatMap(value =>
      termsOfValue(value).facts.flatMap(({ kind, readings }) =>
        kind === 'date'
          ? readings.flatMap(reading => (/^d:\d{4}-\d{2}-\d{2}$/.test(reading) ? [reading.slice(2)] : []))
          : [],
      ),
    ),
  ),
]
