import { MAX_COUNTED_VERSIONS } from '../limits.ts'
import { type DurationHistogram, sumHistograms } from './duration-histogram.ts'

/** What the spans of one step and prompt version used on one day, and how long they took. */
export interface StepUse {
  /**
   * Empty for the sum of all pairs of a step and a version past the first `MAX_COUNTED_VERSIONS`. The sum's
   * `promptVersionId` is also empty.
   */
  stepId: string
  /** Empty if there is no version. */
  promptVersionId: string
  /** Null if no span has any usage. */
  inputTokens: number | null
  outputTokens: number | null
  /** In billionths of a US dollar, so that sums are exact in any order. Null if no span has a cost. */
  costNanoUsd: number | null
  durations: DurationHistogram
}

type Sums = Pick<StepUse, 'inputTokens' | 'outputTokens' | 'costNanoUsd'>

/** Adds two sums. Null if both are null. */
const plus = (left: number | null, right: number | null): number | null => (left === null ? right : left + (right ?? 0))

/** Adds up what several steps or days used. */
export function sumUse(uses: readonly Sums[]): Sums {
  let sums: Sums = { inputTokens: null, outputTokens: null, costNanoUsd: null }
  for (const use of uses) {
    sums = {
      inputTokens: plus(sums.inputTokens, use.inputTokens),
      outputTokens: plus(sums.outputTokens, use.outputTokens),
      costNanoUsd: plus(sums.costNanoUsd, use.costNanoUsd),
    }
  }
  return sums
}

const keyOf = ({ stepId, promptVersionId }: StepUse): string => JSON.stringify([stepId, promptVersionId])

/** Adds up uses by step and version. Pairs past the first `MAX_COUNTED_VERSIONS` are counted together. */
export function sumByVersion(...uses: readonly (readonly StepUse[])[]): StepUse[] {
  const byVersion = new Map<string, StepUse[]>()
  const rest: StepUse[] = []
  for (const use of uses.flat()) {
    const key = keyOf(use)
    const same = byVersion.get(key)
    if (same) same.push(use)
    else if (use.stepId !== '' && byVersion.size < MAX_COUNTED_VERSIONS) byVersion.set(key, [use])
    else rest.push(use)
  }
  const summed = (all: readonly StepUse[], stepId: string, promptVersionId: string): StepUse => ({
    stepId,
    promptVersionId,
    ...sumUse(all),
    durations: sumHistograms(all.map(({ durations }) => durations)),
  })
  const separate = [...byVersion.values()].flatMap(same => {
    const [first] = same
    return first ? [summed(same, first.stepId, first.promptVersionId)] : []
  })
  return rest.length > 0 ? [...separate, summed(rest, '', '')] : separate
}

/** Compares a day's uses before and after a count. Returns those to store and those that are gone. */
export function changesOfUse(before: readonly StepUse[], after: readonly StepUse[]) {
  const stored = new Map(before.map(use => [keyOf(use), use]))
  const kept = new Set(after.map(keyOf))
  return {
    changed: after.filter(use => !isSameUse(use, stored.get(keyOf(use)))),
    gone: before.filter(use => !kept.has(keyOf(use))),
  }
}

function isSameUse(use: StepUse, other: StepUse | undefined): boolean {
  if (!other) return false
  const buckets = Object.keys({ ...use.durations, ...other.durations })
  return (
    use.inputTokens === other.inputTokens &&
    use.outputTokens === other.outputTokens &&
    use.costNanoUsd === other.costNanoUsd &&
    buckets.every(bucket => use.durations[bucket] === other.durations[bucket])
  )
}
