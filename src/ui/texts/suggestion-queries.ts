import { queryOptions } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import type { PromptSuggestion } from '../api/wire.ts'

/** The suggestion that became a version. Cached: it only changes if one of its examples is deleted. */
export const suggestionQuery = (problemId: string, versionId: string) =>
  queryOptions({
    queryKey: ['suggestion', problemId, versionId],
    queryFn: ({ signal }) =>
      call<PromptSuggestion>(`/api/problems/${problemId}/suggestion`, { query: { versionId }, signal }),
  })
