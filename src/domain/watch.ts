import { fisherP, fisherPLower, type Interval, newcombeInterval } from './statistics.ts'

/*
 * After an activation, the decisions on the new version's outputs are compared with those on the previous version's, at
 * five looks. Each look's p-value is multiplied by the number of looks (Bonferroni). So the probability that an equally
 * good version seems better or worse at any look is at most 5%, no matter how often somebody looks.
 */

/**
 * How many decisions on the new version each look needs. The last number is also the most decisions on the old version
 * that are counted.
 */
export const WATCH_LOOKS = [20, 40, 80, 160, 320] as const
export const MAX_WATCHED = 320

/** The minimum number of decisions on a worse version before the service may reactivate the previous one. */
export const MIN_ROLLBACK_LOOK = 40

const SIGNIFICANT_P = 0.05

export const WATCH_STATES = ['too_early', 'better', 'worse', 'no_difference'] as const
export type WatchState = (typeof WATCH_STATES)[number]

/** The versions that a watch compares. */
export const WATCHED_SIDES = ['before', 'after'] as const
export type WatchedSide = (typeof WATCHED_SIDES)[number]

/** How many of n decisions accept the output. */
export interface Acceptance {
  n: number
  accepted: number
}

/** Counts of first decisions at a look, on the previous version and on the new one. */
export interface LookCounts {
  before: Acceptance
  after: Acceptance
}

/** The result of a look. */
export interface Finding {
  state: Exclude<WatchState, 'too_early'>
  /** The two-sided p-value, times the number of looks. */
  p: number
  /**
   * The 95% interval of the new version's share of acceptances minus the old one's. Null if the old version has no
   * decisions.
   */
  interval: Interval | null
}

/** Compares the shares of acceptances at a look. */
export function findingOf({ before, after }: LookCounts): Finding {
  const [first, second] = [sampleOf(before), sampleOf(after)]
  const p = corrected(fisherP(first, second))
  const isBetter = after.accepted * before.n > before.accepted * after.n
  const state = p >= SIGNIFICANT_P ? 'no_difference' : isBetter ? 'better' : 'worse'
  return { state, p, interval: newcombeInterval(first, second) }
}

const sampleOf = ({ n, accepted }: Acceptance) => ({ n, successes: accepted })

/** The first look that needs more decisions than there are. Undefined after the last look. */
export const nextLook = (decisions: number): number | undefined => WATCH_LOOKS.find(look => look > decisions)

/** Decisions at a look, and how many of them are cases of a problem. */
export interface CaseCounts {
  n: number
  cases: number
}

/** Whether cases are rarer on the new version at a look, and the one-sided p-value, times the number of looks. */
export function rarerCases(before: CaseCounts, after: CaseCounts): { isRarer: boolean; p: number } {
  const p = corrected(fisherPLower(caseSample(after), caseSample(before)))
  return { isRarer: p < SIGNIFICANT_P, p }
}

const caseSample = ({ n, cases }: CaseCounts) => ({ n, successes: cases })

const corrected = (p: number): number => Math.min(1, p * WATCH_LOOKS.length)
