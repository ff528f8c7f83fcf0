import type { Insights } from '../api/wire.ts'

/*
 * Ranks steps by the minimum number of corrections to expect from the live version if there are as many outputs as in
 * the period. The live version writes a step's outputs from now on.
 */

/** Counts of current decisions. */
export interface Decided {
  accepted: number
  corrected: number
}

export const decidedOf = ({ accepted, corrected }: Decided): number => accepted + corrected

/** With fewer decisions than this, a share isn't meaningful. */
export const FEW_DECISIONS = 10

/** The two-sided 95% quantile of the standard normal distribution. */
const Z = 1.959964

/**
 * Wilson's score interval: the 95% confidence interval of a share, given `part` of `whole`. Unlike the share alone, it
 * ranks 1 of 1 below 30 of 30. It's reliable even for few trials and for shares near 0 and 1, where the textbook
 * interval fails. E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", Journal of the
 * American Statistical Association 22 (1927), 209-212. If there are no trials, the interval is 0 to 1.
 */
export function wilsonInterval(part: number, whole: number): { low: number; high: number } {
  if (whole <= 0) return { low: 0, high: 1 }
  const share = part / whole
  const square = Z * Z
  const middle = share + square / (2 * whole)
  const reach = Z * Math.sqrt((share * (1 - share)) / whole + square / (4 * whole * whole))
  const scale = 1 + square / whole
  return { low: Math.max(0, (middle - reach) / scale), high: Math.min(1, (middle + reach) / scale) }
}

export type PromptVersion = Insights['promptVersions'][number]

/** Decisions on one prompt version's outputs. */
export interface VersionDecided extends Decided {
  version: PromptVersion
}

export interface RankedStep extends Decided {
  stepId: string
  /** The number of the period's outputs or of its decisions, whichever is higher. */
  outputs: number
  /** Unreviewed outputs. */
  waiting: number
  /** Newest first. Leaves out outputs that don't name a version. */
  versions: VersionDecided[]
  /** The active version, if it has enough decisions for the step to be ranked by that version alone. */
  active: VersionDecided | null
  /**
   * Whether people correct the active version more or less often than the previous one. Null if the difference isn't
   * significant.
   */
  trend: 'worse' | 'better' | null
  /** The minimum number of corrections to expect: `outputs` times `rate.low`, rounded down. */
  expected: number
  /** The 95% confidence interval of the share of outputs that are corrected. */
  rate: { low: number; high: number }
}

/**
 * Steps with corrections, sorted by expected corrections, and steps with too few decisions to rank, sorted by
 * unreviewed outputs. The highest number comes first.
 */
export function rankSteps({ steps, days, promptVersions }: Insights): { ranked: RankedStep[]; unknown: RankedStep[] } {
  const byStep = Map.groupBy(days, ({ stepId }) => stepId)
  const all = steps.map(step => rankedStep(step, versionsOf(byStep.get(step.stepId) ?? [], promptVersions)))
  const isKnown = (step: RankedStep) => decidedOf(step) >= FEW_DECISIONS
  return {
    ranked: all
      .filter(step => isKnown(step) && decidedIn(step).corrected > 0)
      .toSorted(
        (left, right) => right.expected - left.expected || right.rate.low - left.rate.low || byName(left, right),
      ),
    unknown: all
      .filter(step => !isKnown(step) && (step.waiting > 0 || step.corrected > 0))
      .toSorted((left, right) => right.waiting - left.waiting || byName(left, right)),
  }
}

/** The decisions that determine a step's rank. */
export const decidedIn = (step: RankedStep): Decided => step.active ?? step

function rankedStep(
  { stepId, outputs, reviewed, accepted, corrected }: Insights['steps'][number],
  versions: VersionDecided[],
): RankedStep {
  const isJudged = (decided: Decided) => decidedOf(decided) >= FEW_DECISIONS
  const active = versions.find(({ version, ...decided }) => version.isActive && isJudged(decided)) ?? null
  const judged = active ?? { accepted, corrected }
  // Output counts lag behind decisions, and decisions may be on older outputs.
  const known = Math.max(outputs, accepted + corrected)
  const rate = wilsonInterval(judged.corrected, decidedOf(judged))
  return {
    stepId,
    accepted,
    corrected,
    outputs: known,
    waiting: Math.max(0, outputs - reviewed),
    versions,
    active,
    trend: active && trendOf(active, versions),
    expected: Math.floor(rate.low * known),
    rate,
  }
}

/**
 * Compares a version with the previous one. Intervals that don't overlap are a conservative test of significance: N.
 * Schenker and J. F. Gentleman, "On Judging the Significance of Differences by Examining the Overlap Between Confidence
 * Intervals", The American Statistician 55 (2001), 182-186.
 */
function trendOf(active: VersionDecided, versions: readonly VersionDecided[]): RankedStep['trend'] {
  const before = versionBefore(active, versions)
  if (!before) return null
  const now = wilsonInterval(active.corrected, decidedOf(active))
  const then = wilsonInterval(before.corrected, decidedOf(before))
  if (now.low > then.high) return 'worse'
  return now.high < then.low ? 'better' : null
}

/** The latest earlier version of the same prompt that has decisions. */
export const versionBefore = (
  { version }: VersionDecided,
  versions: readonly VersionDecided[],
): VersionDecided | undefined =>
  versions.find(({ version: other }) => other.promptId === version.promptId && other.number < version.number)

function versionsOf(days: Insights['days'], promptVersions: readonly PromptVersion[]): VersionDecided[] {
  const byVersion = Map.groupBy(days, ({ promptVersionId }) => promptVersionId)
  return promptVersions
    .flatMap(version => {
      const ofVersion = byVersion.get(version.id)
      return ofVersion ? [{ version, ...sumOf(ofVersion) }] : []
    })
    .toSorted((left, right) => right.version.number - left.version.number)
}

/** The sum of several counts of decisions. */
export const sumOf = (parts: readonly Decided[]): Decided => ({
  accepted: parts.reduce((sum, { accepted }) => sum + accepted, 0),
  corrected: parts.reduce((sum, { corrected }) => sum + corrected, 0),
})

const byName = (left: RankedStep, right: RankedStep): number => (left.stepId < right.stepId ? -1 : 1)
