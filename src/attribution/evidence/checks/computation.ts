import type { Json } from '../../../domain/json.ts'
import { spend } from '../../effort.ts'
import type { Finding } from '../../finding.ts'
import { type Fact, termsOfValue } from '../../text/terms.ts'
import { columnsIn, derive, deriveDate, deriveSpan, deriveTime, numbersIn } from '../arithmetic.ts'
import type { Dispute } from '../dispute.ts'
import type { Scene } from '../scene.ts'

/**
 * Checks whether the output's numbers and dates, or the corrected ones, follow from the values that the step received.
 */
export function* checkComputation(scene: Scene): Generator<Finding> {
  const { dispute, origin } = scene
  if (!dispute) return
  const given = givenValues(scene)
  const changes = numberChanges(scene)
  const at = { spanId: origin.spanId, path: 'output' }
  for (const change of changes) {
    const verdict = verdictOnNumber(change, given, dispute)
    if (verdict) {
      yield { ...at, ...verdict }
      return
    }
  }
  for (const verdict of [verdictOnSign(changes), verdictOnTime(dispute, given), verdictOnDate(dispute, given)]) {
    if (verdict) yield { ...at, ...verdict }
  }
}

/** A finding at the output. */
type Verdict = Pick<Finding, 'kind' | 'note' | 'strength'>

/** The values that the step could use in a computation. */
interface Given {
  values: Json[]
  numbers: number[]
  columns: number[][]
  /** Numbers in the prompt: rates and conversion factors. */
  factors: number[]
}

function givenValues({ visible, prompts }: Scene): Given {
  const values = visible.filter(({ kind }) => kind !== 'metadata').map(({ value }) => value)
  const factors = prompts.flatMap(({ value }) => numbersIn(value))
  return {
    values,
    numbers: [...values.flatMap(numbersIn), ...factors],
    columns: values.flatMap(columnsIn),
    factors,
  }
}

function verdictOnNumber({ before, after }: NumberChange, given: Given, dispute: Dispute): Verdict | undefined {
  const { output } = dispute.step
  const approved = dispute.approved ?? null
  const hasApproved = dispute.approved !== undefined
  const inOutput = numbersIn(output)
  const inApproved = hasApproved ? numbersIn(approved) : inOutput.filter(number => number !== before)
  const isBeforeGiven = before !== undefined && given.numbers.includes(before)
  const isAfterGiven = given.numbers.includes(after)
  // If the step received both, only the output's other numbers show which one fits.
  const { numbers, columns } = isBeforeGiven && isAfterGiven ? { numbers: [], columns: [] } : given
  const dates = datesIn([...given.values, approved])
  const times = timesIn(given.values)
  const follows = (number: number, beside: number[], answer: Json) =>
    deriveSpan(number, dates, times) ??
    derive(number, [...beside, ...numbers], [...columns, ...columnsIn(answer)], given.factors)
  const right = follows(after, inApproved, dispute.approved ?? output)
  const wrong = before === undefined ? undefined : follows(before, inOutput, output)
  if (right && isBeforeGiven && !isAfterGiven) {
    const note = `repeats ${before} from the input, but ${after} is ${right}`
    return { kind: 'input_does_not_add_up', note, strength: 1 }
  }
  const isFilled = before === undefined && hasApproved
  if (right && !wrong && !isFilled)
    return { kind: 'correction_computes', note: `is wrong: ${after} is ${right}`, strength: 1 }
  if (wrong && !right) {
    const note = `matches the numbers: ${before} is ${wrong}, and ${after} is not`
    return { kind: 'output_computes', note, strength: isAfterGiven ? 1 : 0.6 }
  }
  return undefined
}

function verdictOnSign(changes: readonly NumberChange[]): Verdict | undefined {
  const turned = changes.find(({ before, after }) => before !== undefined && before < 0 && after > 0)
  if (!turned) return undefined
  const note = `is ${turned.before}, which is negative, but was corrected to ${turned.after}`
  return { kind: 'result_impossible', note, strength: 1 }
}

function verdictOnTime(dispute: Dispute, { values }: Given): Verdict | undefined {
  const { before, after } = timeChange(dispute) ?? {}
  if (before === undefined || after === undefined) return undefined
  const times = timesIn([...values, dispute.approved ?? null]).filter(other => other !== after)
  const right = deriveTime(after, times)
  const wrong = deriveTime(
    before,
    times.filter(other => other !== before),
  )
  if (right && !wrong) return { kind: 'correction_computes', note: `is wrong: ${after} is ${right}`, strength: 1 }
  if (wrong && !right)
    return { kind: 'output_computes', note: `matches the times: ${before} is ${wrong}`, strength: 0.6 }
  return undefined
}

function verdictOnDate(dispute: Dispute, { values, numbers }: Given): Verdict | undefined {
  const { before, after } = dateChange(dispute) ?? {}
  if (before === undefined || after === undefined) return undefined
  const starts = datesIn(values)
  const right = deriveDate(after, starts, [...numbers, ...numbersIn(dispute.approved ?? null)])
  const wrong = deriveDate(before, starts, [...numbers, ...numbersIn(dispute.step.output)])
  if (right && !wrong)
    return { kind: 'correction_computes', note: `is wrong: ${after} follows from ${right}`, strength: 1 }
  if (wrong && !right)
    return { kind: 'output_computes', note: `matches the dates: ${before} follows from ${wrong}`, strength: 0.5 }
  return undefined
}

/** A number that was changed to a different one. */
interface NumberChange {
  /** Undefined if the output had no number there. */
  before: number | undefined
  after: number
}

/** The changed numbers. Without an approved output, numbers that comments mention take its place. */
export function numberChanges({ dispute, origin }: Scene): NumberChange[] {
  const changed = (dispute?.difference?.changes ?? []).flatMap(({ before, after }) => {
    const [left, right] = [onlyNumber(before), onlyNumber(after)]
    return right !== undefined && left !== right ? [{ before: left, after: right }] : []
  })
  if (changed.length > 0 || dispute?.approved !== undefined) return changed
  const mentioned = dispute?.comments.flatMap(comment => numbersIn(comment)) ?? []
  const outputs = numbersIn(origin.output)
  // Pair the comment's number with the closest one in the output.
  return mentioned.flatMap(after => {
    spend(1 + outputs.length)
    if (outputs.includes(after)) return []
    const far = outputs.map(output => Math.abs(output - after))
    const least = far.reduce((one, other) => Math.min(one, other), Number.POSITIVE_INFINITY)
    return [{ before: outputs[far.indexOf(least)], after }]
  })
}

function onlyNumber(value: Json | undefined): number | undefined {
  if (typeof value === 'number') return value
  const numbers = typeof value === 'string' ? numbersIn(value) : []
  return numbers.length === 1 ? numbers[0] : undefined
}

/** The changed time of day or duration. Undefined unless there is exactly one. */
function timeChange({ difference }: Dispute): { before: string; after: string } | undefined {
  const { lost, gained } = difference ?? {}
  const [before, after] = [lost, gained].map(terms => timesIn((terms?.facts ?? []).map(({ text }) => text)))
  return before?.length === 1 && after?.length === 1 && before[0] && after[0]
    ? { before: before[0], after: after[0] }
    : undefined
}

function factsOf(value: Json): readonly Fact[] {
  const { facts } = termsOfValue(value)
  spend(facts.length)
  return facts
}

const timesIn = (values: readonly Json[]): string[] => [
  ...new Set(
    values.flatMap(value =>
      factsOf(value).flatMap(({ kind, readings }) => (kind === 'time' ? (readings[0]?.slice(2) ?? []) : [])),
    ),
  ),
]

/** The first date that was changed. */
function dateChange({ difference }: Dispute): { before: string; after: string } | undefined {
  const { lost, gained } = difference ?? {}
  const [before, after] = [lost, gained].map(terms => datesIn((terms?.facts ?? []).map(({ text }) => text))[0])
  return before && after ? { before, after } : undefined
}

const datesIn = (values: readonly Json[]): string[] => [
  ...new Set(
    values.flatMap(value =>
      factsOf(value).flatMap(({ kind, readings }) =>
        kind === 'date'
          ? readings.flatMap(reading => (/^d:\d{4}-\d{2}-\d{2}$/.test(reading) ? [reading.slice(2)] : []))
          : [],
      ),
    ),
  ),
]
