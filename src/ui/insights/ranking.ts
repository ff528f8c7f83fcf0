import type { Insights } from '../api/wire.ts'

/*
 * What to fix next: the steps by how many of the window's outputs would at least be corrected if all were reviewed.
 */

/** Decisions in force. */
export interface Decided {
  accepted: number
  corrected: number
}

export const decidedOf = ({ accepted, corrected }: Decided): number => accepted + corrected

/** With fewer decisions a share says next to nothing. */
export const FEW_DECISIONS = 10

/** The standard normal distribution's quantile for 95 %, two-sided. */
const Z = 1.959964

/**
 * Wilson's score interval: between which shares the true one lies (95 %), `part` of `whole` having been seen. Unlike the
 * share alone it makes 1 of 1 less than 30 of 30, and it holds for few trials and for shares near 0 and 1, where the
 * textbook interval fails. E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", Journal
 * of the American Statistical Association 22 (1927), 209-212. Of nothing: 0 to 1.
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

/** What was decided on the outputs of one prompt version. */
export interface VersionDecided extends Decided {
  version: PromptVersion
}

export interface RankedStep extends Decided {
  stepId: string
  /** The window's outputs. */
  outputs: number
  /** Those that nobody reviewed. */
  waiting: number
  /** Newest first; outputs that name no version are in none. */
  versions: VersionDecided[]
  /** The active version, where enough of its outputs were decided to judge the step by it alone: it is what runs now. */
  active: VersionDecided | null
  /** Whether the active version is corrected more or less often than the one before it, beyond chance; null: neither. */
  trend: 'worse' | 'better' | null
  /** How many of the window's outputs at least would be corrected. */
  expected: number
}

/**
 * Steps with corrections, the one with the most to gain first; and those with too few decisions to rank, the one with
 * the most waiting outputs first.
 */
export function rankSteps({ steps, days, promptVersions }: Insights): { ranked: RankedStep[]; unknown: RankedStep[] } {
  const byStep = Map.groupBy(days, ({ stepId }) => stepId)
  const all = steps.map(step => rankedStep(step, versionsOf(byStep.get(step.stepId) ?? [], promptVersions)))
  const isKnown = (step: RankedStep) => decidedOf(step) >= FEW_DECISIONS
  return {
    ranked: all
      .filter(step => isKnown(step) && decidedIn(step).corrected > 0)
      .toSorted((left, right) => right.expected - left.expected || byName(left, right)),
    unknown: all
      .filter(step => !isKnown(step) && (step.waiting > 0 || step.corrected > 0))
      .toSorted((left, right) => right.waiting - left.waiting || byName(left, right)),
  }
}

/** The decisions that a step is judged by. */
export const decidedIn = (step: RankedStep): Decided => step.active ?? step

function rankedStep(
  { stepId, outputs, reviewed, accepted, corrected }: Insights['steps'][number],
  versions: VersionDecided[],
): RankedStep {
  const isJudged = (decided: Decided) => decidedOf(decided) >= FEW_DECISIONS
  const active = versions.find(({ version, ...decided }) => version.isActive && isJudged(decided)) ?? null
  const judged = active ?? { accepted, corrected }
  // Counts of outputs lag behind decisions, and decisions may be on older outputs.
  const known = Math.max(outputs, accepted + corrected)
  return {
    stepId,
    accepted,
    corrected,
    outputs: known,
    waiting: Math.max(0, outputs - reviewed),
    versions,
    active,
    trend: active && trendOf(active, versions),
    expected: wilsonInterval(judged.corrected, decidedOf(judged)).low * known,
  }
}

/**
 * Compares a version with the newest other one before it. Intervals that do not overlap are beyond chance, on the safe side:
 * N. Schenker and J. F. Gentleman, "On Judging the Significance of Differences by Examining the Overlap Between Confidence
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

/** The newest version of the same prompt that is older than this one and was decided on. */
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

/** Decisions taken together. */
export const sumOf = (parts: readonly Decided[]): Decided => ({
  accepted: parts.reduce((sum, { accepted }) => sum + accepted, 0),
  corrected: parts.reduce((sum, { corrected }) => sum + corrected, 0),
})

const byName = (left: RankedStep, right: RankedStep): number => (left.stepId < right.stepId ? -1 : 1)
