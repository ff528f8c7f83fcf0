import type { Gate } from './gate.ts'
import { type LookCounts, rarerCases, type WatchState } from './watch.ts'

/** The states of a problem, from found to fixed, and `dismissed`. */
export const PROBLEM_STATES = ['open', 'fixing', 'proven', 'live', 'verified', 'dismissed'] as const
export type ProblemState = (typeof PROBLEM_STATES)[number]

/** What a problem's cases have in common. */
export interface ProblemKey {
  /** The step at fault, under its current name. */
  stepId: string
  /** '' if nobody named a type. */
  errorType: string
  /** '' if the cause cites no doc. */
  docSlug: string
}

/** Who named the type of a case: a reviewer, or only an engine. */
export const NAMED_BY = ['reviewer', 'engine'] as const
export type NamedBy = (typeof NAMED_BY)[number]

/** The facts that determine a problem's state. */
export interface ProblemFacts {
  isDismissed: boolean
  /** Whether a prompt version is linked as the candidate, and still exists. */
  hasCandidate: boolean
  isActive: boolean
  isProven: boolean
  /**
   * Whether the watch has shown that the candidate helped, and how many cases there were within `REOPENING_MS` after
   * that.
   */
  isVerified: boolean
  casesSince: number
}

/** The state of a problem. It moves back if the facts change back. */
export function problemState(facts: ProblemFacts): ProblemState {
  if (facts.isDismissed) return 'dismissed'
  if (!facts.hasCandidate) return 'open'
  if (!facts.isActive) return facts.isProven ? 'proven' : 'fixing'
  if (!facts.isVerified) return 'live'
  return facts.casesSince >= REOPENING_CASES ? 'open' : 'verified'
}

/**
 * The time of the first look in which the watch showed that a candidate helped: either more outputs were accepted, as
 * the latest look also shows, or the problem's error type was rarer. Undefined if no look showed this.
 */
export function verificationIn(
  { state, looks }: { state: WatchState; looks: readonly Look[] },
  errorType: string,
): number | undefined {
  return looks.find(look => (state === 'better' && look.state === 'better') || isRarer(look, errorType))?.at
}

interface Look extends LookCounts {
  at: number
  state: WatchState
  errorTypes: ReadonlyMap<string, { before: number; after: number }>
}

function isRarer({ before, after, errorTypes }: Look, errorType: string): boolean {
  const cases = errorTypes.get(errorType)
  if (!cases) return false
  return rarerCases({ n: before.n, cases: cases.before }, { n: after.n, cases: cases.after }).isRarer
}

/** How many cases after a verification reopen the problem. */
export const REOPENING_CASES = 3

/** The minimum number and the minimum share of a problem's test items that a candidate must fix. */
const MIN_PROOF_ITEMS = 3
const FIXED_SHARE = 0.8

/** How many of a problem's test items a candidate must fix. */
export const neededFixes = (items: number): number => Math.max(MIN_PROOF_ITEMS, Math.ceil(FIXED_SHARE * items - 1e-9))

/** A candidate's figures for a problem, from its experiment. */
export interface Shown {
  /** Whether the experiment meets the gate or, if the step has none, the default gate. */
  met: boolean
  hasExperiment: boolean
  hasGate: boolean
  items: number
  fixed: number
}

/** Why a candidate isn't proven yet. Null if it is. */
export function missingProof({ met, hasExperiment, hasGate, items, fixed }: Shown): string | null {
  if (!hasExperiment) return "The candidate has no finished experiment on the step's dataset that counts as proof."
  if (items < MIN_PROOF_ITEMS) {
    return `The experiment has ${items} of the problem's test items; at least ${MIN_PROOF_ITEMS} are required.`
  }
  if (fixed < neededFixes(items)) {
    return `${fixed} of the problem's ${items} test items ${fixed === 1 ? 'is' : 'are'} fixed; ${neededFixes(items)} are required.`
  }
  if (met) return null
  return hasGate
    ? "The experiment doesn't meet the step's gate."
    : `The experiment needs at least ${DEFAULT_GATE.minItems} items in the test split, and no item that was right in production may be wrong.`
}

/** What an experiment must show if the step has no gate. */
export const DEFAULT_GATE: Gate = {
  minItems: 10,
  minPassRate: null,
  maxRegressed: 0,
  maxUnjudged: null,
  maxAgeDays: null,
  split: 'test',
  allowJudge: false,
}
