import type { Insights } from '../api/wire.ts'

/** How often reviewers and the engine named an error type. */
export interface Named {
  review: number
  engine: number
}

export const namedOf = ({ review, engine }: Named): number => review + engine

/** A row in the table of error types by step. */
interface ErrorTypeRow extends Named {
  errorType: string
  /** By step. The key is null if the engine named no span. */
  cells: ReadonlyMap<string | null, Named>
}

export interface ErrorTypeTable {
  /** The steps, most errors first; errors without a step last. */
  steps: (string | null)[]
  /** The most frequent error type first. */
  rows: ErrorTypeRow[]
  /** The highest count of one cell. */
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
    .toSorted((left, right) => namedOf(right) - namedOf(left) || (left.errorType < right.errorType ? -1 : 1))
  const steps = [...Map.groupBy(counts, ({ stepId }) => stepId)]
    .map(([stepId, ofStep]) => ({ stepId, total: namedOf(namedIn(ofStep)) }))
    .toSorted((left, right) => Number(left.stepId === null) - Number(right.stepId === null) || right.total - left.total)
    .map(({ stepId }) => stepId)
  return { steps, rows, most: Math.max(0, ...rows.flatMap(({ cells }) => [...cells.values()].map(namedOf))) }
}

/** A step's most frequent error type according to reviewers or, if they named none, the engine. */
export function mostNamed(
  counts: Insights['errorTypes'],
  stepId: string,
): { errorType: string; source: 'review' | 'engine' } | undefined {
  const ofStep = counts.filter(count => count.stepId === stepId)
  const byReviewers = ofStep.filter(({ source }) => source === 'review')
  return (byReviewers.length > 0 ? byReviewers : ofStep).toSorted((left, right) => right.count - left.count)[0]
}

const namedIn = (counts: Insights['errorTypes']): Named => {
  const by = (source: keyof Named) =>
    counts.reduce((sum, entry) => sum + (entry.source === source ? entry.count : 0), 0)
  return { review: by('review'), engine: by('engine') }
}
