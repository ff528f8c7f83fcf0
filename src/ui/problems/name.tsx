import { useQuery } from '@tanstack/react-query'
import type { Problem } from '../api/wire.ts'
import { type TimeRange, windowsAt } from '../insights/window.ts'
import { ShownText } from '../json/shown-text.tsx'
import { useErrorTypeNames } from '../session/error-type-names.ts'
import { problemQuery } from './queries.ts'

/** What goes wrong: the error type's name. */
export function useProblemName(): (problem: Pick<Problem, 'errorType'>) => string {
  const nameOf = useErrorTypeNames()
  return ({ errorType }) => (errorType === null ? 'No error type' : nameOf(errorType))
}

/** Where it goes wrong: the step and, if a doc is the cause, the doc. */
export const ProblemPlace = ({ problem: { stepId, docSlug } }: { problem: Pick<Problem, 'stepId' | 'docSlug'> }) => (
  <span dir="auto">
    in{' '}
    <code>
      <ShownText text={stepId} />
    </code>
    {docSlug !== null && (
      <>
        , from the doc{' '}
        <code>
          <ShownText text={docSlug} />
        </code>
      </>
    )}
  </span>
)

/** The name of the problem in a URL's filters, by its ID. Empty if the filters contain no problem. */
export function useNamedProblem(project: string | undefined, address: URLSearchParams): ReadonlyMap<string, string> {
  const nameOf = useProblemName()
  const id = address.get('problemId')
  const { data } = useQuery({
    ...problemQuery(project, id ?? '', rangeIn(address)),
    enabled: project !== undefined && id !== null,
  })
  if (id === null) return NO_NAMES
  return new Map([[id, data ? `${nameOf(data)} in ${data.stepId}` : id]])
}

const NO_NAMES: ReadonlyMap<string, string> = new Map()

/** The period in which the decisions that a URL selects were made. */
function rangeIn(address: URLSearchParams): TimeRange {
  const { current } = windowsAt(Date.now(), 90)
  return { from: address.get('reviewedFrom') ?? current.from, to: address.get('reviewedTo') ?? current.to }
}
