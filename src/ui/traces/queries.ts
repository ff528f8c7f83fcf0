import { type InfiniteData, infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { call, pathWith } from '../api/client.ts'
import { queryClient } from '../api/query-client.ts'
import type { TraceDeletions, TraceItem, TraceList } from '../api/wire.ts'
import { type TraceChange, type TracePage, withChanges } from './pages.ts'

const PAGE_SIZE = 50
const POLL_MS = 5_000
/** The list is kept this long, because readers come back to it after reading a long trace. */
const LIST_KEPT_MS = 30 * 60_000

interface PageOptions {
  cursor?: string | null
  limit?: number
  signal: AbortSignal
}

/** Whether new traces appear in a list on their own. Searching or sorting every few seconds would cost too much. */
export function isLive(filters: string): boolean {
  const query = new URLSearchParams(filters)
  return !query.has('contains') && !query.has('sort')
}

/** `filters` come from `listQueryOf`. */
function readTraces(project: string, filters: string, { cursor, limit = PAGE_SIZE, signal }: PageOptions) {
  const path = pathWith('/api/traces', { projectSlug: project, limit, cursor })
  return call<TraceList>(filters === '' ? path : `${path}&${filters}`, { signal })
}

/** A page. For a short page, finds out how far back it looked: the time of the next page's first trace. */
async function readPage(project: string, filters: string, options: PageOptions): Promise<TracePage> {
  const page = await readTraces(project, filters, options)
  if (page.searchedTo !== undefined) return { ...page, lookedBackTo: page.searchedTo }
  if (page.nextCursor === null || page.traces.length === PAGE_SIZE || page.sortedOver) {
    return { ...page, lookedBackTo: null }
  }
  const place = { cursor: page.nextCursor, limit: 1, signal: options.signal }
  const { traces } = await readTraces(project, 'kind=all', place)
  return { ...page, lookedBackTo: traces[0]?.createdAt ?? null }
}

const PAGES_KEY = ['traces', 'pages']
const NEWEST_KEY = ['traces', 'newest']

/** The list as far as the reader has scrolled. `newestQuery` gets new traces, so long lists are never refetched. */
export const tracesQuery = (project: string | undefined, filters: string) =>
  infiniteQueryOptions({
    queryKey: [...PAGES_KEY, project, filters],
    queryFn: ({ pageParam, signal }) => readPage(project ?? '', filters, { cursor: pageParam, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: LIST_KEPT_MS,
    enabled: project !== undefined,
  })

/** The first page, polled while someone looks at it. */
export const newestQuery = (project: string | undefined, filters: string) =>
  queryOptions({
    queryKey: [...NEWEST_KEY, project, filters],
    queryFn: ({ signal }) => readTraces(project ?? '', filters, { signal }),
    initialData: () =>
      queryClient.getQueryData(tracesQuery(project, filters).queryKey)?.pages[0] as TraceList | undefined,
    staleTime: POLL_MS,
    refetchInterval: POLL_MS,
    refetchIntervalInBackground: false,
    refetchOnWindowFocus: true,
    gcTime: 0,
  })

type Pages = InfiniteData<TracePage, string | null>

/** Updates a trace in every list. */
export function updateLists(trace: TraceChange): void {
  queryClient.setQueriesData<Pages>({ queryKey: PAGES_KEY }, data => {
    const pages = data && withChanges(data.pages, [trace])
    return data && pages && pages !== data.pages ? { ...data, pages } : data
  })
}

/** Removes deleted traces from every list, and from the first page, which would otherwise add them again. */
export function removeFromLists(ids: ReadonlySet<string>): void {
  const left = (traces: TraceItem[]) => traces.filter(({ id }) => !ids.has(id))
  // Responses from before the deletion still include them.
  void queryClient.cancelQueries({ queryKey: NEWEST_KEY })
  queryClient.setQueriesData<TraceList>(
    { queryKey: NEWEST_KEY },
    list => list && { ...list, traces: left(list.traces) },
  )
  queryClient.setQueriesData<Pages>(
    { queryKey: PAGES_KEY },
    data =>
      data && {
        ...data,
        pages: data.pages.map(page => ({ ...page, traces: left(page.traces) })),
      },
  )
}

/** Deletes up to 200 traces. */
export const deleteTraces = (traces: readonly TraceItem[]) =>
  call<TraceDeletions>('/api/traces/delete', { method: 'POST', body: { ids: traces.map(({ id }) => id) } })
