import { distance } from 'fastest-levenshtein'
import { spend } from '../../effort.ts'
import type { Finding } from '../../finding.ts'
import { type Fact, plain, termsOf, termsOfValue } from '../../text/terms.ts'
import { columnsIn, impliedAddend, impliedOperand, numbersIn } from '../arithmetic.ts'
import type { Dispute } from '../dispute.ts'
import type { Scene } from '../scene.ts'
import { locationOf, readingsOf, type Source, supportOf } from '../sources.ts'
import { numberChanges } from './computation.ts'

/**
 * Checks whether the input has a typo in a value that people corrected, such as a wrong digit or a shifted decimal
 * point.
 */
export function* checkSlips(scene: Scene): Generator<Finding> {
  const { dispute, visible } = scene
  if (!dispute) return
  const given = visible.filter(({ kind, step }) => kind === 'input' || (kind === 'state' && step?.isRoot))
  const impossible = impossibleDate(given)
  if (impossible) yield impossible
  const slip = impliedSlip(scene, given) ?? typoIn(scene, given) ?? slipOfFact(dispute, given)
  if (slip) yield slip
}

/** A date that doesn't exist. */
function impossibleDate(given: readonly Source[]): Finding | undefined {
  for (const source of given) {
    spend(source.terms.facts.length)
    const fact = source.terms.facts.find(isImpossible)
    if (!fact) continue
    const note = `says "${fact.text}", a date that doesn't exist`
    return { kind: 'input_impossible', ...locationOf(source), note, strength: 1 }
  }
  return undefined
}

const slipAt = (source: Source, wrong: string, right: string): Finding => ({
  kind: 'input_slip',
  ...locationOf(source),
  note: `says "${wrong}", which is probably a typo for "${right}"`,
  strength: 1,
})

/** Finds a fact in the input that is close to one that people say is right. */
function slipOfFact(dispute: Dispute, given: readonly Source[]): Finding | undefined {
  const approved = dispute.approved === undefined ? [] : (dispute.difference?.gained.facts ?? [])
  const rightFacts = [...approved, ...dispute.comments.flatMap(comment => termsOf(comment).facts)]
  // A typo that the output doesn't repeat did no harm. A shifted decimal point counts either way, because it's
  // unmistakable.
  const output = readingsOf(termsOfValue(dispute.step.output).facts)
  const isHarmful = (slip: Fact, fact: Fact) =>
    slip.readings.some(reading => output.has(reading)) || isShifted(slip, fact)
  for (const fact of rightFacts) {
    spend(1 + given.length)
    const isKnown = given.some(({ readings }) => fact.readings.some(reading => readings.has(reading)))
    if (isKnown || isYear(fact) || fact.text.length < 3) continue
    for (const source of given) {
      const slip = source.terms.facts.find(candidate => isSlipOf(candidate, fact) && isHarmful(candidate, fact))
      if (slip) return slipAt(source, slip.text, fact.text)
    }
  }
  return undefined
}

/** Whether a fact is a year. Many years differ from each other by one digit. */
const isYear = ({ readings }: Fact): boolean => /^n:(19|20)\d\d$/.test(readings[0] ?? '')

/**
 * Finds a name, number, or date that the output copied from its source and that differs from the approved one by a
 * letter or two.
 */
function typoIn({ dispute, visible }: Scene, given: readonly Source[]): Finding | undefined {
  for (const { before, after } of dispute?.difference?.changes ?? []) {
    const [wrong, right] = [before, after].map(value =>
      typeof value === 'string' || typeof value === 'number' ? String(value) : '',
    )
    if (!wrong || !right || wrong.length > 60 || !isSlip(plain(wrong), plain(right))) continue
    const contains = (text: string) => (source: Source) => supportOf(termsOf(text), [source]).found > 0.9
    const source = given.find(contains(wrong))
    if (source && !visible.some(contains(right))) return slipAt(source, wrong, right)
  }
  return undefined
}

/**
 * Finds a number in the input that seems mistyped: with the typo fixed, the output's computation gives the approved
 * result.
 */
function impliedSlip(scene: Scene, given: readonly Source[]): Finding | undefined {
  for (const { before, after } of numberChanges(scene)) {
    if (before === undefined) continue
    for (const source of given) {
      const numbers = [...new Set(numbersIn(source.value))].slice(0, 60)
      const implied = [
        ...impliedOperand(before, after, numbers),
        ...columnsIn(source.value).flatMap(column => impliedAddend(before, after, column)),
      ]
      const slip = implied.find(({ operand, implied: right }) => isNumberSlip(operand, right))
      if (slip) {
        const note = `says ${slip.operand}; with ${slip.implied}, the result would be the approved ${after}`
        return { kind: 'input_slip', ...locationOf(source), note, strength: 1 }
      }
    }
  }
  return undefined
}

/** Whether a date doesn't exist. */
function isImpossible({ kind, readings }: Fact): boolean {
  const [, date] = /^d:(\d{4}-\d{2}-\d{2})$/.exec(readings[0] ?? '') ?? []
  return (
    kind === 'date' &&
    readings.length === 1 &&
    date !== undefined &&
    new Date(`${date}T00:00:00Z`).toISOString().slice(0, 10) !== date
  )
}

/** Whether two numbers differ by a shifted decimal point, swapped digits, or one extra, missing, or wrong digit. */
function isNumberSlip(left: number, right: number): boolean {
  if (left <= 0 || right <= 0 || left === right) return false
  spend(10)
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

/** Whether two numbers differ only in the position of the decimal point. */
function isShifted({ kind, readings }: Fact, right: Fact): boolean {
  const digits = (reading: string | undefined) => (reading ?? '').replace(/[^1-9]/g, '')
  return kind === 'number' && digits(readings[0]).length >= 2 && digits(readings[0]) === digits(right.readings[0])
}

function isSlipOf(given: Fact, right: Fact): boolean {
  spend(1)
  if (given.kind !== right.kind) return false
  if (given.kind === 'number') {
    const [left, other] = [Number(given.readings[0]?.slice(2)), Number(right.readings[0]?.slice(2))]
    return isNumberSlip(left, other)
  }
  return given.kind === 'identifier' && isSlip(given.readings[0] ?? '', right.readings[0] ?? '')
}

/** Whether two short strings differ by a typo: at most one letter in five. */
const isSlip = (left: string, right: string): boolean => {
  const length = Math.max(left.length, right.length)
  const most = Math.max(1, Math.floor(length / 5))
  if (left === right || length < 3 || Math.abs(left.length - right.length) > most) return false
  spend(5 + (left.length * right.length) / 16)
  return distance(left, right) <= most
}
