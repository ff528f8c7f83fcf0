import { isJsonObject } from '../../domain/json.ts'
import type { Step } from '../../domain/subject.ts'
import { MAX_PART_EFFORT } from '../../limits.ts'
import { attempt } from '../effort.ts'
import { hasTerms, numberFact, termsOfValue } from '../text/terms.ts'
import { impliedOperand, numbersIn } from './arithmetic.ts'
import { isSameMeaning, similarity } from './difference.ts'
import type { Dispute } from './dispute.ts'
import { type Source, sourceOf, supportOf } from './sources.ts'

/** How much of the corrected content an earlier output must contain to count as its origin. */
const MIN_SHARE = 0.6

/**
 * Finds the earliest step whose own output contains the disputed content, because that step is to blame for errors it
 * passes on. An error may propagate as a copy, as a field that the correction also changes, as a value that is passed
 * on, as a number that another was computed from, or as content missing from everything that the next step received. If
 * `isComplete` is false, there was too much to compare, and an even earlier step may be the origin.
 */
export function originOf(dispute: Dispute, visibleTo: (step: Step) => Source[]): { origin: Step; isComplete: boolean } {
  let { step } = dispute
  // Each turn moves back in time or up the tree.
  const isComplete = attempt(MAX_PART_EFFORT, () => {
    for (let turn = 0; turn < MAX_TURNS; turn++) {
      const supplier = supplierOf(dispute, step, visibleTo)
      if (!supplier) break
      step = supplier
    }
    return true
  })
  return { origin: step, isComplete: isComplete === true }
}

const MAX_TURNS = 16

function supplierOf(dispute: Dispute, step: Step, visibleTo: (step: Step) => Source[]): Step | undefined {
  const earlier = visibleTo(step)
    .filter(
      ({ kind, path, step: owner }) =>
        kind === 'output' && path === 'output' && owner !== null && owner !== step && isUnconfirmed(owner),
    )
    .sort(byTime)
  const checks = [isCopy, hasCorrectedField, isPassedOn, isFirstSource]
  for (const check of checks) {
    const found = earlier.find(source => check(source, dispute, step, visibleTo))?.step
    if (found) return found
  }
  return operandSupplier(dispute, step, earlier) ?? withholdingStep(dispute, step, earlier, visibleTo)
}

/** Whether nobody has confirmed the step's output. */
const isUnconfirmed = ({ review }: Step): boolean => review?.state !== 'accepted'

type Check = (source: Source, dispute: Dispute, step: Step, visibleTo: (step: Step) => Source[]) => boolean

/** Whether the source has the same content as the later output. */
const isCopy: Check = (source, { difference }, step) => {
  const { terms } = source
  const output = termsOfValue(step.output)
  // If the source also has the right value, the step misread the source instead of copying its error.
  if (
    difference &&
    hasTerms(difference.gained) &&
    supportOf(difference.gained, [source], COMMON_WORD_WEIGHT).found >= 0.5
  )
    return false
  return hasTerms(output) && similarity(output, terms) >= 0.8
}

/** Whether the source has a field that the correction changes, with a different value. */
const hasCorrectedField: Check = ({ value }, { correction }) =>
  isJsonObject(value) &&
  Object.entries(correction ?? {}).some(([field, right]) => {
    const own = value[field]
    return own !== undefined && !isSameMeaning(own, right)
  })

/** Whether the lost content is in the step's own input, and the input came from the source. */
const isPassedOn: Check = (source, { difference }, step) => {
  if (!difference || step.input === null || difference.changes.length === 0) return false
  const input = supportOf(difference.lost, [sourceOf('input', step, 'input', step.input)], COMMON_WORD_WEIGHT)
  const support = supportOf(difference.lost, [source], COMMON_WORD_WEIGHT)
  const right = supportOf(difference.gained, [source], COMMON_WORD_WEIGHT)
  return (
    hasTerms(difference.gained) &&
    input.weight >= 1 &&
    input.found > 0.8 &&
    support.found > 0.8 &&
    right.found < 0.5 &&
    isSuppliedBy(step, source)
  )
}

/** Whether the source is the first to contain the lost content and doesn't also contain the right content. */
const isFirstSource: Check = (source, { difference }, _, visibleTo) => {
  if (!difference || !source.step || !hasTerms(difference.gained)) return false
  const support = supportOf(difference.lost, [source], COMMON_WORD_WEIGHT)
  if (
    support.weight < 1 ||
    support.found < MIN_SHARE ||
    supportOf(difference.gained, [source], COMMON_WORD_WEIGHT).found >= 0.5
  )
    return false
  return supportOf(difference.lost, visibleTo(source.step), COMMON_WORD_WEIGHT).found < MIN_SHARE
}

/** The weight of common words, which say little about an origin. */
const COMMON_WORD_WEIGHT = 0.1

/** Whether most of a step's input comes from another step's output. */
const isSuppliedBy = (step: Step, source: Source): boolean =>
  supportOf(termsOfValue(step.input), [source]).found >= MIN_SHARE

const byTime = ({ step: left }: Source, { step: right }: Source): number =>
  (left?.timestamp ?? 0) - (right?.timestamp ?? 0)

/**
 * The step that supplied a wrong operand: the disputed number was computed correctly from it, and a different operand
 * would give the approved number.
 */
function operandSupplier(
  { step: disputed, difference }: Dispute,
  step: Step,
  earlier: readonly Source[],
): Step | undefined {
  if (step !== disputed) return undefined
  const given = numbersIn(step.input)
  for (const { before, after } of difference?.changes ?? []) {
    if (typeof before !== 'number' || typeof after !== 'number') continue
    for (const { operand, implied } of impliedOperand(before, after, given)) {
      const supplier = earlier.find(({ readings }) =>
        numberFact('', operand).readings.some(reading => readings.has(reading)),
      )
      if (supplier?.step && !supplier.readings.has(`n:${implied}`)) return supplier.step
    }
  }
  return undefined
}

/**
 * The step that had the right content but didn't pass it on, although the later step got most of its input from there.
 */
function withholdingStep(
  { difference }: Dispute,
  step: Step,
  earlier: readonly Source[],
  visibleTo: (step: Step) => Source[],
): Step | undefined {
  if (!difference || step.input === null || !hasTerms(difference.gained)) return undefined
  const { gained } = difference
  const own = supportOf(gained, [sourceOf('input', step, 'input', step.input)])
  if (own.weight < 1 || own.found >= 0.5) return undefined
  return (
    earlier.find(source => {
      if (!source.step || !isSuppliedBy(step, source) || supportOf(gained, [source]).found >= 0.4) return false
      return supportOf(gained, visibleTo(source.step)).found > own.found + 0.3
    })?.step ?? undefined
  )
}
