import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo } from 'react'
import type { TraceItem } from '../api/wire.ts'
import { hasGap, newTraces, type TracePage, withChanges, withTraces } from './pages.ts'
import { newestQuery, tracesQuery } from './queries.ts'

interface NewTraces {
  /** Those that came since and are not in the list yet. */
  waiting: readonly TraceItem[]
  /** Whether still more came than are counted. */
  hasMore: boolean
  /** Puts them into the list. */
  show: () => void
}

interface NewTracesOptions {
  project: string | undefined
  filters: string
  /** The list as loaded; undefined while it is another's. */
  pages: readonly TracePage[] | undefined
  /** Nobody's place moves, nor a row under a pointer: they are put in at once. */
  isFree: boolean
}

/** Follows what comes into a list while somebody looks at it; what changes in its first page is brought up to date. */
export function useNewTraces({ project, filters, pages, isFree }: NewTracesOptions): NewTraces {
  const queryClient = useQueryClient()
  const { data: newest } = useQuery({ ...newestQuery(project, filters), enabled: pages !== undefined })
  const waiting = useMemo(() => (pages && newest ? newTraces(pages, newest.traces) : []), [pages, newest])
  const hasMore = Boolean(pages && newest && hasGap(pages, newest, waiting.length))

  useEffect(() => {
    if (!newest) return
    queryClient.setQueryData(tracesQuery(project, filters).queryKey, data => {
      const changed = data && withChanges(data.pages, newest.traces)
      return data && changed && changed !== data.pages ? { ...data, pages: changed } : data
    })
  }, [queryClient, project, filters, newest])

  const show = useCallback(() => {
    const { queryKey } = tracesQuery(project, filters)
    if (hasMore) void queryClient.resetQueries({ queryKey, exact: true })
    else queryClient.setQueryData(queryKey, data => data && { ...data, pages: withTraces(data.pages, waiting) })
  }, [queryClient, project, filters, waiting, hasMore])

  useEffect(() => {
    if (isFree && waiting.length > 0) show()
  }, [isFree, waiting, show])

  return { waiting: isFree ? [] : waiting, hasMore, show }
}
