import { ActionIcon, Group, Skeleton, Stack, Title, Tooltip, VisuallyHidden } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { notifications } from '@mantine/notifications'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useRef } from 'react'
import { useSearchParams } from 'wouter'
import { queryClient } from '../api/query-client.ts'
import type { SpanOfTrace } from '../api/wire.ts'
import { loadCode } from '../code/index.tsx'
import { IconArrowBackUp, IconChevronLeft, IconChevronRight, IconKeyboard } from '../icons/index.ts'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { undo } from './decide.ts'
import { FilterBar } from './filter-bar.tsx'
import { filterFrom, type QueueFilter, withFilter } from './filters.ts'
import { Finished } from './finished.tsx'
import { loadForm } from './form/index.tsx'
import classes from './inbox.module.css'
import { Item } from './item.tsx'
import { itemsOf, nextOpen, openAfter } from './items.ts'
import { KeysHelp } from './keys-help.tsx'
import { QueueProgress } from './progress.tsx'
import { promptsQuery, queueQuery, spanQuery } from './queries.ts'
import { showTrouble } from './trouble-notice.tsx'
import { useClaims } from './use-claims.ts'
import { useDesk, useRefused, useSitting } from './use-desk.ts'
import { did, useKeys } from './use-keys.ts'

/** Items that are claimed and read ahead of the one that is looked at. */
const AHEAD = 3
/** With fewer open items listed the next page is asked for. */
const LISTED_AHEAD = 10
const EMPTY_POLL_MS = 20_000
/** In less a claim is answered, mostly. */
const CLAIM_MS = 1_000

/** The queue, one span at a time. */
export function Inbox({ projectSlug }: { projectSlug: string }) {
  const desk = useDesk()
  const sitting = useSitting()
  const refused = useRefused()
  const [isHelpOpen, help] = useDisclosure()
  const [parameters, setParameters] = useSearchParams()
  const filter = filterFrom(parameters)
  const named = parameters.get('span')
  const query = queueQuery(projectSlug, filter)
  const queue = useInfiniteQuery(query)
  const { data: prompts } = useQuery(promptsQuery(projectSlug))
  const { pages = [] } = queue.data ?? {}
  const previews = useMemo(() => new Map(pages.flatMap(({ spans }) => spans).map(span => [span.id, span])), [pages])
  const ids = useMemo(() => itemsOf([...previews.keys()], named), [previews, named])
  const isOpen = (id: string) => !sitting.decided.has(id) && !sitting.skipped.has(id) && !refused.has(id)
  const current = named ?? nextOpen(ids, undefined, isOpen)
  const ahead = openAfter(ids, current, isOpen, AHEAD)
  const isFinished = current === undefined && queue.isSuccess && !queue.hasNextPage

  const show = (id: string | undefined) =>
    setParameters(
      before => {
        const next = new URLSearchParams(before)
        if (id === undefined) next.delete('span')
        else next.set('span', id)
        return next
      },
      { replace: true },
    )
  const advance = () => show(nextOpen(ids, current, isOpen))
  const move = (step: 1 | -1) => {
    const target = ids[(current === undefined ? -1 : ids.indexOf(current)) + step]
    if (target === undefined) say(step === 1 ? 'That is the last item' : 'That is the first item')
    else show(target)
  }
  const undoOne = (spanId: string | undefined) => {
    if (spanId === undefined) return say('Nothing to undo in this sitting')
    undo(desk, spanId, showTrouble)
    show(spanId)
  }
  const undoLast = () => undoOne(sitting.undoable.at(-1))
  const changeFilter = (chosen: QueueFilter) => setParameters(before => withFilter(before, chosen))

  const isClaimable = (id: string) => !sitting.decided.has(id) && !sitting.resetting.has(id)
  useClaims([...(current === undefined ? [] : [current]), ...ahead].filter(isClaimable))
  useReadAhead(ahead, previews)
  useNamed(named === null ? current : undefined, show)
  useMorePages(queue, openAfter(ids, current, isOpen, LISTED_AHEAD).length)
  useNews(isFinished, query.queryKey, queue.refetch)
  useEffect(() => {
    const timer = setTimeout(() => Promise.all([loadCode(), loadForm()]).catch(() => undefined), 1_000)
    return () => clearTimeout(timer)
  }, [])
  useKeys({
    next: () => did(() => move(1)),
    previous: () => did(() => move(-1)),
    undo: () => did(undoLast),
    help: () => did(help.open),
  })

  const latest = pages.at(-1)
  const since = sitting.decidedAt.filter(at => at > queue.dataUpdatedAt).length
  const countedToday = latest?.today.find(({ userId }) => userId === desk.actorId)?.reviewed ?? 0
  return (
    <div className={classes.inbox}>
      <Group justify="space-between" gap="xs" className={classes.bar}>
        <Group gap="md" miw={0}>
          <Title order={1}>Review</Title>
          <QueueProgress
            remaining={latest && Math.max(latest.remaining - since, 0)}
            isMinimum={latest?.remainingIsMinimum ?? false}
            today={countedToday + since}
          />
        </Group>
        <Group gap="xs">
          <FilterBar
            filter={filter}
            onChange={changeFilter}
            steps={(prompts?.prompts ?? []).map(({ stepId }) => stepId)}
          />
          <Group gap={2} wrap="nowrap">
            <BarButton label="Previous item (K)" Icon={IconChevronLeft} onClick={() => move(-1)} />
            <BarButton label="Next item (J)" Icon={IconChevronRight} onClick={() => move(1)} />
            <BarButton label="Undo the last decision (U)" Icon={IconArrowBackUp} onClick={undoLast} />
            <BarButton label="Keys (?)" Icon={IconKeyboard} onClick={help.open} />
          </Group>
        </Group>
      </Group>
      {queue.error && named === null ? (
        <FaultAlert error={queue.error} title="The queue could not be read" onRetry={queue.refetch} />
      ) : current !== undefined ? (
        <Current
          key="current"
          spanId={current}
          preview={previews.get(current)}
          projectSlug={projectSlug}
          onAdvance={advance}
          onUndo={undoOne}
          onLeave={() => show(undefined)}
        />
      ) : isFinished ? (
        <Finished filter={filter} projectSlug={projectSlug} onFilter={changeFilter} />
      ) : (
        <Blank />
      )}
      <KeysHelp isOpen={isHelpOpen} onClose={help.close} />
    </div>
  )
}

interface CurrentProps {
  spanId: string
  preview: SpanOfTrace | undefined
  projectSlug: string
  onAdvance: () => void
  onUndo: (spanId: string) => void
  onLeave: () => void
}

/** The item that is looked at, as soon as anything of it is there. */
function Current({ spanId, preview, onLeave, ...item }: CurrentProps) {
  const { data: whole, error, refetch } = useQuery({ ...spanQuery(spanId), ...wholeIn(preview) })
  const span = whole ?? preview
  if (!span && error) {
    return (
      <Stack maw={640}>
        <FaultAlert error={error} title="This item could not be read" onRetry={refetch} />
        <Group>
          <BarButton label="Back to the queue" Icon={IconChevronLeft} onClick={onLeave} />
        </Group>
      </Stack>
    )
  }
  if (!span) return <Blank />
  return (
    <>
      <VisuallyHidden role="status">
        {span.stepId} in {span.trace.name}
      </VisuallyHidden>
      {error && !whole && <FaultAlert error={error} title="The whole item could not be read" onRetry={refetch} />}
      <Item {...item} span={span} isWhole={whole !== undefined} />
    </>
  )
}

interface BarButtonProps {
  label: string
  Icon: typeof IconKeyboard
  onClick: () => void
}

const BarButton = ({ label, Icon, onClick }: BarButtonProps) => (
  <Tooltip label={label}>
    <ActionIcon variant="subtle" color="gray" aria-label={label} onClick={onClick}>
      <Icon size={18} aria-hidden />
    </ActionIcon>
  </Tooltip>
)

/** The places of an item that is not there yet. */
export const Blank = () => (
  <div className={classes.blank} aria-hidden>
    <Skeleton h="60vh" />
    <Skeleton h="60vh" />
    <Skeleton h="14rem" />
  </div>
)

/** A preview that nothing was cut from is the span in full. */
const wholeIn = (preview: SpanOfTrace | undefined) =>
  preview !== undefined && preview.truncated.length === 0 ? { initialData: preview } : {}

/** Names in the address what is looked at once its claim is answered: it stays there, whoever claims it later on. */
function useNamed(spanId: string | undefined, show: (spanId: string) => void): void {
  const name = useRef(show)
  name.current = show
  useEffect(() => {
    if (spanId === undefined) return
    const timer = setTimeout(() => name.current(spanId), CLAIM_MS)
    return () => clearTimeout(timer)
  }, [spanId])
}

/** Reads items in full before they are looked at. */
function useReadAhead(spanIds: readonly string[], previews: ReadonlyMap<string, SpanOfTrace>): void {
  const wanted = spanIds.join()
  useEffect(() => {
    for (const id of wanted === '' ? [] : wanted.split(',')) {
      queryClient.prefetchQuery({ ...spanQuery(id), ...wholeIn(previews.get(id)) })
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

/** Looks for new items while there are none. */
function useNews(
  isFinished: boolean,
  queryKey: ReturnType<typeof queueQuery>['queryKey'],
  refetch: () => unknown,
): void {
  const key = JSON.stringify(queryKey)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key by its value
  useEffect(() => {
    if (!isFinished) return
    const timer = setInterval(() => {
      if (document.hidden) return
      // Each page would be asked for again.
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
