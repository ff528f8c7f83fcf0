import { queryOptions } from '@tanstack/react-query'
import { SUPPLEMENT } from '../parts/settled.ts'
import { call } from './client.ts'
import type { ReviewPolicy } from './wire.ts'

/** Which outputs of a project are reviewed, and by how many people. */
export const reviewPolicyQuery = (projectId: string | undefined) =>
  queryOptions({
    queryKey: ['review-policy', projectId],
    queryFn: ({ signal }) => call<ReviewPolicy>(`/api/projects/${projectId}/review-policy`, { signal }),
    enabled: projectId !== undefined,
    staleTime: 60_000,
    meta: SUPPLEMENT,
  })

/** Whether the outputs of at least one step are reviewed by several people. */
export const hasVoting = ({ steps, default: other }: ReviewPolicy): boolean =>
  [other, ...Object.values(steps)].some(({ reviewers }) => reviewers > 1)

/** How a step's outputs are reviewed. */
export const stepPolicyIn = (
  { steps, default: other }: Pick<ReviewPolicy, 'default' | 'steps'>,
  stepId: string,
): ReviewPolicy['default'] => (Object.hasOwn(steps, stepId) ? steps[stepId] : undefined) ?? other
