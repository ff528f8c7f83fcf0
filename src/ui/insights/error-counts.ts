import type { Insights } from '../api/wire.ts'

/** How many times reviewers and the engine named an error type. */
export interface Named {
  review: number
  engine: number
}

/** A row in the table of error types by step. */
interface ErrorTypeRow extends Named {
  errorType: string
  /** By step. The key is null if the engine named no span. */
  cells: ReadonlyMap<string | null, Named>
}

export interface ErrorTypeTable {
  /** The steps, sorted like `rows`. Errors without a step come last. */
  steps: (string | null)[]
  /** The types that reviewers chose most often come first; those that only the engine found come last. */
  rows: ErrorTypeRow[]
  /** Whose counts shade the cells: the reviewers', or the engine's if reviewers named no type. */
  heatOf: keyof Named
  /** The highest of these counts. */
  most: number
}

/** Error types by step, with separate counts for reviewers and the engine. */
export function errorTypeTable(counts: Insights['errorTypes']): ErrorTypeTable {
  const rows = [...Map.groupBy(counts, ({ errorType }) => errorType)]
    .map(([errorType, ofType]) => ({
      errorType,
      ...namedIn(ofType),
      cells: new Map([...Map.groupBy(ofType, ({ stepId }) => stepId)].map(([stepId, cell]) => [stepId, namedIn(cell)])),
    }))
    .toSorted((left, right) => byReviewersFirst(left, right) || (left.errorType < right.errorType ? -1 : 1))
  const steps = [...Map.groupBy(counts, ({ stepId }) => stepId)]
    .map(([stepId, ofStep]) => ({ stepId, ...namedIn(ofStep) }))
    .toSorted(
      (left, right) => Number(left.stepId === null) - Number(right.stepId === null) || byReviewersFirst(left, right),
    )
    .map(({ stepId }) => stepId)
  const heatOf = rows.some(({ review }) => review > 0) ? 'review' : 'engine'
  const most = Math.max(0, ...rows.flatMap(({ cells }) => [...cells.values()].map(named => named[heatOf])))
  return { steps, rows, heatOf, most }
}

/** A step's most frequent error type. */
export interface MostNamed {
  errorType: string
  source: 'review' | 'engine'
  /** Whether it's more frequent than any other error type. */
  isMost: boolean
  /** Whether it's the step's only error type. */
  isOnly: boolean
}

/** A step's most frequent error type according to reviewers or, if they named none, the engine. */
export function mostNamed(counts: Insights['errorTypes'], stepId: string): MostNamed | undefined {
  const ofStep = counts.filter(count => count.stepId === stepId)
  const byReviewers = ofStep.filter(({ source }) => source === 'review')
  const [most, next] = (byReviewers.length > 0 ? byReviewers : ofStep).toSorted(
    (left, right) => right.count - left.count,
  )
  if (!most) return undefined
  const { errorType, source } = most
  return { errorType, source, isMost: most.count > (next?.count ?? 0), isOnly: next === undefined }
}

/** An error type that even one reviewer named comes before those that only the engine named. */
const byReviewersFirst = (left: Named, right: Named): number => right.review - left.review || right.engine - left.engine

const namedIn = (counts: Insights['errorTypes']): Named => {
  const by = (source: keyof Named) =>
    counts.reduce((sum, entry) => sum + (entry.source === source ? entry.count : 0), 0)
  return { review: by('review'), engine: by('engine') }
}
