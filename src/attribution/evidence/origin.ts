import { isJsonObject, type JsonObject } from '../../domain/json.ts'
import type { Step } from '../../domain/subject.ts'
import { MAX_PART_EFFORT } from '../../limits.ts'
import { attempt } from '../effort.ts'
import { hasTerms, NO_TERMS, termsOfValue } from '../text/terms.ts'
import { isSameMeaning, similarity } from './difference.ts'
import type { MainDispute } from './dispute.ts'
import { type Source, supportOf } from './sources.ts'

/** How much of the disputed content an earlier output must contain to count as its origin. */
const MIN_SHARE = 0.6

/** The weight of common words, which say little about an origin. */
const WORD_WEIGHT = 0.1

/** How many steps back to follow an error. */
const MAX_TURNS = 16

/**
 * Follows the disputed content back to the earliest step whose own output contains it, because that step is to blame
 * even if later steps pass its error on. If `isComplete` is false, there was too much to compare, and an even earlier
 * step may be the origin.
 */
export function originOf(
  dispute: MainDispute,
  visibleTo: (step: Step) => Source[],
): { origin: Step; isComplete: boolean } {
  let { step } = dispute
  // Each turn moves to an earlier step or up the tree.
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

/**
 * The earlier step that an output's error came from. The output is a copy of that step's output; or that step's output
 * is wrong in a field that the correction also changes; or that step was the first to have the wrong content.
 */
function supplierOf(dispute: MainDispute, step: Step, visibleTo: (step: Step) => Source[]): Step | undefined {
  const earlier = visibleTo(step)
    .filter(
      ({ kind, path, step: owner }) =>
        kind === 'output' &&
        path === 'output' &&
        owner !== null &&
        owner !== step &&
        owner.review?.state !== 'accepted',
    )
    .sort((left, right) => (left.step?.timestamp ?? 0) - (right.step?.timestamp ?? 0))
  const { difference, correction } = dispute
  const output = termsOfValue(step.output)
  const find = (isSupplier: (source: Source, owner: Step) => boolean) =>
    earlier.find(source => source.step && isSupplier(source, source.step))?.step ?? undefined
  // If a source has the right value, the error comes from a later step that misread it.
  const isRight = (source: Source) =>
    difference !== undefined &&
    hasTerms(difference.gained) &&
    supportOf(difference.gained, [source], WORD_WEIGHT).found >= 0.5
  const isMisread = supportOf(difference?.gained ?? NO_TERMS, [], WORD_WEIGHT).weight >= 1.5 && earlier.some(isRight)
  const shareOfLost = (sources: readonly Source[]) => {
    const { found, weight } = supportOf(difference?.lost ?? output, sources, WORD_WEIGHT)
    return weight < 1 ? 0 : found
  }
  return (
    find(source => hasTerms(output) && similarity(output, source.terms) >= 0.8 && !isRight(source)) ??
    find(({ value }) => isJsonObject(value) && hasWrongField(value, correction)) ??
    find(
      (source, owner) =>
        !isMisread &&
        !isRight(source) &&
        shareOfLost([source]) >= MIN_SHARE &&
        shareOfLost(visibleTo(owner)) < MIN_SHARE,
    )
  )
}

const hasWrongField = (value: JsonObject, correction: JsonObject | null): boolean =>
  Object.entries(correction ?? {}).some(([field, right]) => {
    const own = value[field]
    return own !== undefined && !isSameMeaning(own, right)
  })
