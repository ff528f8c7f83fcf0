import type { Insights } from '../api/wire.ts'
import { type Decided, decidedOf, type PromptVersion, sumOf } from './ranking.ts'
import { type Bucket, bucketIndex } from './window.ts'

/** A line in a step's chart: decisions on one prompt version's outputs, by bucket. */
export interface AcceptanceLine {
  /** A key that contains no text from the pipeline. */
  key: string
  label: string
  /**
   * The filter value that selects the line's decisions. Undefined if the line has all of the step's decisions; null if
   * it has more than `MAX_VERSIONS` versions.
   */
  promptVersionId: string | null | undefined
  isActive: boolean
  /** Null for a bucket without decisions. */
  points: (Decided | null)[]
  total: Decided
}

export interface StepAcceptance extends Decided {
  stepId: string
  /** The newest version comes first, and outputs that don't name a version come last. */
  lines: AcceptanceLine[]
}

/** The most lines in one chart. Older versions are combined. */
const MAX_LINES = 4

/** The most versions that one filter accepts, according to the API's reference. */
const MAX_VERSIONS = 50

/** A prompt version's name: `v3`, with its step's name if that isn't `ofStep`. */
export const versionName = ({ number, stepId }: PromptVersion, ofStep: string): string =>
  stepId === ofStep ? `v${number}` : `v${number} of ${stepId}`

/** Each step's decisions over time, with a line for each prompt version. The step with the most decisions is first. */
export function acceptanceByStep({ days, promptVersions }: Insights, buckets: readonly Bucket[]): StepAcceptance[] {
  const versionOf = new Map(promptVersions.map(version => [version.id, version]))
  return [...Map.groupBy(days, ({ stepId }) => stepId)]
    .map(([stepId, ofStep]) => ({ stepId, ...sumOf(ofStep), lines: linesOf(stepId, ofStep, versionOf, buckets) }))
    .toSorted((left, right) => decidedOf(right) - decidedOf(left) || (left.stepId < right.stepId ? -1 : 1))
}

type Days = Insights['days']

function linesOf(
  stepId: string,
  days: Days,
  versionOf: ReadonlyMap<string, PromptVersion>,
  buckets: readonly Bucket[],
): AcceptanceLine[] {
  const byVersion = Map.groupBy(days, ({ promptVersionId }) => versionOf.get(promptVersionId ?? ''))
  const unnamed = byVersion.get(undefined)
  const named = [...byVersion]
    .flatMap(([version, ofVersion]) => (version ? [{ version, days: ofVersion }] : []))
    .toSorted((left, right) => right.version.number - left.version.number)
  const room = MAX_LINES - (unnamed ? 1 : 0)
  const apart = named.length > room ? named.slice(0, room - 1) : named
  const earlier = named.slice(apart.length).flatMap(({ days }) => days)
  const parts = [
    ...apart.map(({ version, days }) => ({
      label: versionName(version, stepId),
      promptVersionId: version.id,
      isActive: version.isActive,
      days,
    })),
    ...(earlier.length > 0
      ? [{ label: 'earlier versions', promptVersionId: versionsIn(earlier), isActive: false, days: earlier }]
      : []),
    ...(unnamed ? [{ ...unnamedPart(unnamed, named.length > 0), isActive: false, days: unnamed }] : []),
  ]
  return parts.map(({ label, promptVersionId, isActive, days }, index) => ({
    key: `line${index}`,
    label,
    promptVersionId,
    isActive,
    points: pointsOf(days, buckets),
    total: sumOf(days),
  }))
}

/** The decisions without a known version. If `isApart` is false, these are all of the step's decisions. */
function unnamedPart(days: Days, isApart: boolean): Pick<AcceptanceLine, 'label' | 'promptVersionId'> {
  if (!isApart) return { label: 'all', promptVersionId: undefined }
  // Some decisions may name a version of a deleted prompt.
  return { label: 'no version', promptVersionId: versionsIn(days) }
}

/** The filter value that selects the versions of some decisions. Null if there are too many. */
function versionsIn(days: Days): string | null {
  const versions = new Set(days.map(({ promptVersionId }) => promptVersionId ?? 'none'))
  return versions.size > MAX_VERSIONS ? null : [...versions].join(',')
}

function pointsOf(days: Days, buckets: readonly Bucket[]): (Decided | null)[] {
  const byBucket = Map.groupBy(days, ({ day }) => bucketIndex(buckets, day))
  return buckets.map((_, index) => {
    const found = byBucket.get(index)
    return found ? sumOf(found) : null
  })
}
