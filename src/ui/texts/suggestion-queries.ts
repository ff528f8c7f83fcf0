import { queryOptions } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { queryClient } from '../api/query-client.ts'
import type { PendingSuggestion, PromptSuggestion } from '../api/wire.ts'

const FOLLOW_MS = 2_000

const pathOf = (problemId: string): string => `/api/problems/${problemId}/suggestion`

/** The suggestion that became a version. Cached: it only changes if one of its examples is deleted. */
export const suggestionQuery = (problemId: string, versionId: string) =>
  queryOptions({
    queryKey: ['suggestion', problemId, versionId],
    queryFn: ({ signal }) => call<PromptSuggestion>(pathOf(problemId), { query: { versionId }, signal }),
  })

/** The latest suggestion for a problem, refetched until the model has written it. */
export const latestSuggestionQuery = (problemId: string) =>
  queryOptions({
    queryKey: ['suggestion', problemId, null],
    queryFn: ({ signal }) => call<PromptSuggestion | PendingSuggestion>(pathOf(problemId), { signal }),
    refetchInterval: ({ state: { data } }) => (data && 'status' in data ? FOLLOW_MS : false),
  })

/** Asks a model for a version. If the model is already writing a version, this doesn't start another one. */
export async function requestSuggestion(problemId: string): Promise<void> {
  const pending = await call<PendingSuggestion>(pathOf(problemId), { method: 'POST' })
  queryClient.setQueryData(latestSuggestionQuery(problemId).queryKey, pending)
}
