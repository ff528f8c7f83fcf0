import { useQueries } from '@tanstack/react-query'
import { call } from './client.ts'
import type { Reviewers } from './wire.ts'

const IDS_PER_CALL = 100

/** The names of users and keys, by ID. The IDs come from fields such as `by`. Unknown IDs are left out. */
export function useNames(ids: readonly (string | null | undefined)[]): ReadonlyMap<string, string> {
  const wanted = [...new Set(ids.filter(id => typeof id === 'string'))].toSorted()
  const parts = Array.from({ length: Math.ceil(wanted.length / IDS_PER_CALL) }, (_, index) =>
    wanted.slice(index * IDS_PER_CALL, (index + 1) * IDS_PER_CALL),
  )
  return useQueries({
    queries: parts.map(part => ({
      queryKey: ['names', part],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        call<{ reviewers: Reviewers }>('/api/reviewers', {
          query: { ids: part.join(',') },
          signal,
        }),
      staleTime: 10 * 60_000,
    })),
    combine: results => new Map(results.flatMap(({ data }) => data?.reviewers ?? []).map(({ id, name }) => [id, name])),
  })
}
