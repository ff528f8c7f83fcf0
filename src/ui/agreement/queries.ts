import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { call, pathWith } from '../api/client.ts'
import { queryClient } from '../api/query-client.ts'
import type { Agreement, Guideline, VotedOutputs } from '../api/wire.ts'

const PAGE_SIZE = 50

/** Which votes to compare: the votes in a period, on all steps or on one. */
export interface Compared {
  from: string | null
  to: string | null
  stepId: string | null
}

/** How often a project's reviewers agree. */
export const agreementQuery = (projectSlug: string, compared: Compared) =>
  queryOptions({
    queryKey: ['agreement', projectSlug, compared],
    queryFn: ({ signal }) => call<Agreement>('/api/agreement', { query: { projectSlug, ...compared }, signal }),
    placeholderData: (last, query) => (query?.queryKey[1] === projectSlug ? last : undefined),
  })

/**
 * The outputs behind a number, sorted by the time of their first vote, newest first. `filters` are in the same form as
 * in the URL.
 */
export const outputsQuery = (projectSlug: string | undefined, filters: string) =>
  infiniteQueryOptions({
    queryKey: ['agreement-outputs', projectSlug, filters],
    queryFn: ({ pageParam, signal }) => {
      const path = pathWith('/api/agreement/outputs', { projectSlug, limit: PAGE_SIZE, cursor: pageParam })
      return call<VotedOutputs>(filters === '' ? path : `${path}&${filters}`, { signal })
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: keepPreviousData,
    enabled: projectSlug !== undefined,
  })

const guidelinePath = (projectId: string, stepId: string) =>
  `/api/projects/${projectId}/guidelines/${encodeURIComponent(stepId)}`

/** A step's guideline. */
export const guidelineQuery = (projectId: string, stepId: string) =>
  queryOptions({
    queryKey: ['guideline', projectId, stepId],
    queryFn: ({ signal }) => call<Guideline>(guidelinePath(projectId, stepId), { signal }),
  })

/** Sets a step's guideline. */
export async function saveGuideline(projectId: string, stepId: string, text: string): Promise<void> {
  const guideline = await call<Guideline>(guidelinePath(projectId, stepId), { method: 'PUT', body: { text } })
  queryClient.setQueryData(guidelineQuery(projectId, stepId).queryKey, guideline)
  // Reviewers see the guideline with a span's sources.
  void queryClient.invalidateQueries({ queryKey: ['sources'], refetchType: 'none' })
}
