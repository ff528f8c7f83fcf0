import { queryOptions } from '@tanstack/react-query'
import { SUPPLEMENT } from '../parts/settled.ts'
import { call } from './client.ts'
import { queryClient } from './query-client.ts'
import type { ReviewQueue } from './wire.ts'

const KEY = ['disputes']

/** How many of a project's outputs are waiting for an adjudicator. Only adjudicators may see this. */
export const disputesQuery = (projectSlug: string | undefined) =>
  queryOptions({
    queryKey: [...KEY, projectSlug],
    queryFn: ({ signal }) =>
      call<ReviewQueue>('/api/review-queue', {
        query: { projectSlug, disputed: true, limit: 1, payloads: 'preview' },
        signal,
      }),
    select: ({ remaining, remainingIsMinimum }) => ({ remaining, remainingIsMinimum }),
    enabled: projectSlug !== undefined,
    staleTime: 60_000,
    meta: SUPPLEMENT,
  })

/** Counts the disputes again after a decision. */
export const recountDisputes = (): Promise<void> => queryClient.invalidateQueries({ queryKey: KEY })
