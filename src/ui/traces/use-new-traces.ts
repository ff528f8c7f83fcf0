import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo } from 'react'
import type { TraceItem } from '../api/wire.ts'
import { hasGap, newTraces, type TracePage, withChanges, withTraces } from './pages.ts'
import { isLive, newestQuery, tracesQuery } from './queries.ts'

interface NewTraces {
  /** New traces that aren't in the list yet. */
  waiting: readonly TraceItem[]
  /** Whether there are more new traces than `waiting` contains. */
  hasMore: boolean
  /** Adds the new traces to the list. */
  show: () => void
}

interface NewTracesOptions {
  project: string | undefined
  filters: string
  /** The loaded pages; undefined while they belong to the previous filters. */
  pages: readonly TracePage[] | undefined
  /** Whether new traces can be added immediately, without moving the reader's place or the row under the pointer. */
  isFree: boolean
}

/** Polls for new traces, and updates listed traces that are on the first page. */
export function useNewTraces({ project, filters, pages, isFree }: NewTracesOptions): NewTraces {
  const queryClient = useQueryClient()
  const { data: newest } = useQuery({
    ...newestQuery(project, filters),
    enabled: pages !== undefined && isLive(filters),
  })
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
