import { notifications } from '@mantine/notifications'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useRef } from 'react'
import { useSearchParams } from 'wouter'
import { queryClient } from '../api/query-client.ts'
import type { SpanOfTrace } from '../api/wire.ts'
import { loadCode } from '../code/index.tsx'
import { withParameters } from '../parts/parameters.ts'
import { sourcesQuery } from '../sources/queries.ts'
import { undo } from './decide.ts'
import { filterFrom, type QueueKind, withoutQueueFilter } from './filters.ts'
import { loadForm } from './form/index.tsx'
import { itemsOf, nextOpen, openAfter } from './items.ts'
import { queueQuery, spanQuery, wholeIn } from './queries.ts'
import { showTrouble } from './trouble-notice.tsx'
import { useClaims } from './use-claims.ts'
import { useDesk, useRefused, useSitting } from './use-desk.ts'

/** How many items to claim and load ahead of the current one. */
const AHEAD = 3
/** Load the next page when fewer open items than this are listed. */
const LISTED_AHEAD = 10
const EMPTY_POLL_MS = 20_000
/** Most claims get a response within this time. */
const CLAIM_MS = 1_000

/** The queue as the reviewer goes through it: the current item, and how to move on. */
export function useQueue(projectSlug: string, kind: QueueKind) {
  const desk = useDesk()
  const sitting = useSitting()
  const refused = useRefused()
  const [parameters, setParameters] = useSearchParams()
  const filter = filterFrom(parameters)
  const named = parameters.get('span')
  const query = queueQuery(projectSlug, kind, filter)
  const queue = useInfiniteQuery(query)
  const { pages = [] } = queue.data ?? {}
  const previews = useMemo(() => new Map(pages.flatMap(({ spans }) => spans).map(span => [span.id, span])), [pages])
  const ids = useMemo(() => itemsOf([...previews.keys()], named), [previews, named])
  const isOpen = (id: string) => !sitting.decided.has(id) && !sitting.skipped.has(id) && !refused.has(id)
  const current = named ?? nextOpen(ids, undefined, isOpen)
  const ahead = openAfter(ids, current, isOpen, AHEAD)
  const isFinished = current === undefined && queue.isSuccess && !queue.hasNextPage

  const show = (id: string | undefined) => setParameters(withParameters({ span: id }), { replace: true })
  const advance = () => show(nextOpen(ids, current, isOpen))
  const move = (step: 1 | -1) => {
    const target = ids[(current === undefined ? -1 : ids.indexOf(current)) + step]
    if (target === undefined) say(step === 1 ? 'This is the last item' : 'This is the first item')
    else show(target)
  }
  const undoOne = (spanId: string) => {
    undo(desk, spanId, showTrouble)
    show(spanId)
  }
  const undoLast = () => {
    const last = sitting.undoable.at(-1)
    if (last === undefined) say('Nothing to undo')
    else undoOne(last)
  }
  const clearFilter = () => setParameters(withoutQueueFilter)

  // Disputes aren't claimed, because all of their votes have been cast. If two adjudicators decide at the same time,
  // the etag catches the conflict.
  const isClaimable = (id: string) => kind === 'review' && !sitting.decided.has(id) && !sitting.resetting.has(id)
  useClaims([...(current === undefined ? [] : [current]), ...ahead].filter(isClaimable))
  useReadAhead(ahead, previews)
  useCurrentInUrl(named === null ? current : undefined, show)
  useMorePages(queue, openAfter(ids, current, isOpen, LISTED_AHEAD).length)
  useQueuePolling(isFinished, query.queryKey, queue.refetch)
  useEffect(() => {
    const timer = setTimeout(() => Promise.all([loadCode(), loadForm()]).catch(() => undefined), 1_000)
    return () => clearTimeout(timer)
  }, [])
  const latest = pages.at(-1)
  const since = sitting.decidedAt.filter(at => at > queue.dataUpdatedAt).length
  const isMine = ({ assignees }: SpanOfTrace) => assignees.some(({ userId }) => userId === desk.actorId)
  const decidedMine = latest?.spans.filter(span => sitting.decided.has(span.id) && isMine(span)).length ?? 0
  const countedToday = latest?.today.find(({ userId }) => userId === desk.actorId)?.reviewed ?? 0
  return {
    queue,
    filter,
    clearFilter,
    /** The ID of the shown span. */
    current,
    preview: current === undefined ? undefined : previews.get(current),
    isFinished,
    progress: {
      assigned: latest?.assigned && Math.max(latest.assigned - decidedMine, 0),
      remaining: latest && Math.max(latest.remaining - since, 0),
      isMinimum: latest?.remainingIsMinimum ?? false,
      today: countedToday + since,
      reviewerId: desk.actorId,
    },
    advance,
    move,
    undo: undoOne,
    undoLast,
    leave: () => show(undefined),
  }
}

/**
 * Puts the current span in the URL once its claim has likely succeeded. After that, a refused claim doesn't replace it.
 */
function useCurrentInUrl(spanId: string | undefined, show: (spanId: string) => void): void {
  const name = useRef(show)
  name.current = show
  useEffect(() => {
    if (spanId === undefined) return
    const timer = setTimeout(() => name.current(spanId), CLAIM_MS)
    return () => clearTimeout(timer)
  }, [spanId])
}

/** Loads whole items before they are shown. */
function useReadAhead(spanIds: readonly string[], previews: ReadonlyMap<string, SpanOfTrace>): void {
  const wanted = spanIds.join()
  useEffect(() => {
    for (const id of wanted === '' ? [] : wanted.split(',')) {
      queryClient.prefetchQuery({ ...spanQuery(id), ...wholeIn(previews.get(id)) })
      queryClient.prefetchQuery(sourcesQuery(id))
    }
  }, [wanted, previews])
}

interface Pages {
  hasNextPage: boolean
  isFetching: boolean
  isError: boolean
  fetchNextPage: () => unknown
}

function useMorePages({ hasNextPage, isFetching, isError, fetchNextPage }: Pages, listedAhead: number): void {
  useEffect(() => {
    if (listedAhead < LISTED_AHEAD && hasNextPage && !isFetching && !isError) fetchNextPage()
  }, [listedAhead, hasNextPage, isFetching, isError, fetchNextPage])
}

/** Polls for new items while the queue is empty. */
function useQueuePolling(
  isFinished: boolean,
  queryKey: ReturnType<typeof queueQuery>['queryKey'],
  refetch: () => unknown,
): void {
  const key = JSON.stringify(queryKey)
  // biome-ignore lint/correctness/useExhaustiveDependencies: compares the key by value
  useEffect(() => {
    if (!isFinished) return
    const timer = setInterval(() => {
      if (document.hidden) return
      // A refetch reloads every cached page.
      queryClient.setQueryData(
        queryKey,
        known => known && { pages: known.pages.slice(0, 1), pageParams: known.pageParams.slice(0, 1) },
      )
      refetch()
    }, EMPTY_POLL_MS)
    return () => clearInterval(timer)
  }, [isFinished, key, refetch])
}

const say = (message: string): void => {
  notifications.show({ id: 'review', message, autoClose: 1_500, withCloseButton: false })
}
