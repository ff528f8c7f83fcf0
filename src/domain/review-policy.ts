/** The rules that offer a span to reviewers even if sampling leaves it out. */
export const ALWAYS_RULES = ['negative', 'error', 'low_confidence'] as const
type AlwaysRule = (typeof ALWAYS_RULES)[number]

/** An engine's answer counts as `low_confidence` if its confidence is below this. */
export const LOW_CONFIDENCE = 0.5

/** How a step's outputs are reviewed. */
export interface StepPolicy {
  /**
   * The share of the step's outputs that is offered to reviewers, from 0 to 1. If it's 0, the `always` rules don't
   * apply either.
   */
  sample: number
  /** How many people review each output. */
  reviewers: number
  /** Whether other people's votes and comments on an output are hidden from reviewers until it's decided. */
  isBlind: boolean
}

/** Which of a project's outputs are reviewed, and how. */
export interface ReviewPolicy {
  /** For the steps that aren't in `steps`. */
  default: StepPolicy
  steps: ReadonlyMap<string, StepPolicy>
  always: readonly AlwaysRule[]
}

/** If there's no policy, one person reviews each output. */
export const NO_POLICY: ReviewPolicy = {
  default: { sample: 1, reviewers: 1, isBlind: false },
  steps: new Map(),
  always: [],
}

/**
 * Whether a span is in the sample. This depends only on the span's id, so it never changes, and a larger sample
 * includes every smaller one.
 */
export const isSampled = (spanId: string, sample: number): boolean => samplingRank(spanId) < sample * SAMPLING_RANKS

/** The number of ranks, a prime. */
export const SAMPLING_RANKS = 2_147_483_647

/**
 * The factors that turn an id into a rank, a pair for each 8 of its 32 digits: `add` mixes the digits in, and
 * `multiply` multiplies the result by them again, which spreads the ranks of consecutive ids. JavaScript and SQLite,
 * which has no hash function, compute ranks with the same integers. They stay below 2^63, where SQLite would switch to
 * floating point.
 */
export const SAMPLING_FACTORS = {
  add: [166_452_503, 110_351_527, 156_608_407, 181_243_327],
  /** Bits to set in the digits, so that no factor is 0. */
  multiply: [1_073_741_825, 1_342_177_281, 1_207_959_553, 1_107_296_257],
} as const

/**
 * A span's rank. A sample consists of the spans up to some rank. `samplingRank` in `store/core/review-policy.ts` is the
 * SQL.
 */
export function samplingRank(spanId: string): number {
  const ranks = BigInt(SAMPLING_RANKS)
  const hex = spanId.replaceAll('-', '')
  const digits = (index: number) => BigInt(`0x${hex.slice(8 * index, 8 * index + 8)}`)
  let rank = 0n
  for (const [index, factor] of SAMPLING_FACTORS.add.entries()) {
    rank = ((rank + digits(index)) * BigInt(factor)) % ranks
  }
  for (const [index, bits] of SAMPLING_FACTORS.multiply.entries())
    rank = (rank * (digits(index) | BigInt(bits))) % ranks
  return Number(rank)
}
