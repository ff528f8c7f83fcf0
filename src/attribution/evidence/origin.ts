import { isJsonObject } from '../../domain/json.ts'
import type { Step } from '../../domain/subject.ts'
import { MAX_PART_EFFORT } from '../../limits.ts'
import { attempt } from '../effort.ts'
import { hasTerms, numberFact, termsOfValue } from '../text/terms.ts'
import { impliedOperand, numbersIn } from './arithmetic.ts'
import { isSameMeaning, similarity } from './difference.ts'
import type { Dispute } from './dispute.ts'
import { type Source, sourceOf, supportOf } from './sources.ts'

/** The share of the corrected content that an earlier output must have to count as its origin. */
const CARRIES = 0.6

/**
 * The earliest step whose own output carries the disputed content: errors propagate, blame does not. An error may
 * propagate as a copy, as a field that the correction also changes, as a value that is passed on, as a number that
 * another was computed from, or as something missing from everything the next step received. If `isThrough` is false,
 * there was too much to compare, and an earlier step may also carry it.
 */
export function originOf(dispute: Dispute, visibleTo: (step: Step) => Source[]): { origin: Step; isThrough: boolean } {
  let { step } = dispute
  // Each turn goes back in time or up the tree.
  const isThrough = attempt(MAX_PART_EFFORT, () => {
    for (let turn = 0; turn < MAX_TURNS; turn++) {
      const giver = giverOf(dispute, step, visibleTo)
      if (!giver) break
      step = giver
    }
    return true
  })
  return { origin: step, isThrough: isThrough === true }
}

const MAX_TURNS = 16

function giverOf(dispute: Dispute, step: Step, visibleTo: (step: Step) => Source[]): Step | undefined {
  const earlier = visibleTo(step)
    .filter(
      ({ kind, path, step: owner }) =>
        kind === 'output' && path === 'output' && owner !== null && owner !== step && isOpen(owner),
    )
    .sort(byTime)
  const checks = [isCopy, hasCorrectedField, isHandedOn, isSource]
  for (const check of checks) {
    const found = earlier.find(source => check(source, dispute, step, visibleTo))?.step
    if (found) return found
  }
  return recomputed(dispute, step, earlier) ?? withheld(dispute, step, earlier, visibleTo)
}

/** Nobody confirmed the step's output. */
const isOpen = ({ review }: Step): boolean => review?.state !== 'accepted'

type Check = (source: Source, dispute: Dispute, step: Step, visibleTo: (step: Step) => Source[]) => boolean

/** The source has the same content as the later output. */
const isCopy: Check = (source, { difference }, step) => {
  const { terms } = source
  const output = termsOfValue(step.output)
  // A source with much of the output and the right value is what the output was read from.
  if (difference && hasTerms(difference.gained) && supportOf(difference.gained, [source], PLAIN_WORDS).found >= 0.5)
    return false
  return hasTerms(output) && similarity(output, terms) >= 0.8
}

/** The source has a field that the correction changes, with another value. */
const hasCorrectedField: Check = ({ value }, { correction }) =>
  isJsonObject(value) &&
  Object.entries(correction ?? {}).some(([field, right]) => {
    const own = value[field]
    return own !== undefined && !isSameMeaning(own, right)
  })

/** The lost content is in the step's own input, which has it from the source. */
const isHandedOn: Check = (source, { difference }, step) => {
  if (!difference || step.input === null || difference.changes.length === 0) return false
  const input = supportOf(difference.lost, [sourceOf('input', step, 'input', step.input)], PLAIN_WORDS)
  const support = supportOf(difference.lost, [source], PLAIN_WORDS)
  const right = supportOf(difference.gained, [source], PLAIN_WORDS)
  return (
    hasTerms(difference.gained) &&
    input.weight >= 1 &&
    input.found > 0.8 &&
    support.found > 0.8 &&
    right.found < 0.5 &&
    isSuppliedBy(step, source)
  )
}

/** The lost content is in the source and in nothing before it, and the right content isn't next to it. */
const isSource: Check = (source, { difference }, _, visibleTo) => {
  if (!difference || !source.step || !hasTerms(difference.gained)) return false
  const support = supportOf(difference.lost, [source], PLAIN_WORDS)
  if (support.weight < 1 || support.found < CARRIES || supportOf(difference.gained, [source], PLAIN_WORDS).found >= 0.5)
    return false
  return supportOf(difference.lost, visibleTo(source.step), PLAIN_WORDS).found < CARRIES
}

/** The weight of common words, which hardly show an origin. */
const PLAIN_WORDS = 0.1

/** Whether most of a step's input comes from another step's output. */
const isSuppliedBy = (step: Step, source: Source): boolean =>
  supportOf(termsOfValue(step.input), [source]).found >= CARRIES

const byTime = ({ step: left }: Source, { step: right }: Source): number =>
  (left?.timestamp ?? 0) - (right?.timestamp ?? 0)

/**
 * The step that supplied a number from which the disputed one was computed correctly, if another number gives the
 * approved one.
 */
function recomputed({ step: disputed, difference }: Dispute, step: Step, earlier: readonly Source[]): Step | undefined {
  if (step !== disputed) return undefined
  const given = numbersIn(step.input)
  for (const { before, after } of difference?.changes ?? []) {
    if (typeof before !== 'number' || typeof after !== 'number') continue
    for (const { operand, implied } of impliedOperand(before, after, given)) {
      const giver = earlier.find(({ readings }) =>
        numberFact('', operand).readings.some(reading => readings.has(reading)),
      )
      if (giver?.step && !giver.readings.has(`n:${implied}`)) return giver.step
    }
  }
  return undefined
}

/**
 * The step that had the right content but didn't pass it on, although everything the later step received came from it.
 */
function withheld(
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
