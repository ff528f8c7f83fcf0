import { Group, Skeleton, Stack, Title, VisuallyHidden } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import type { SpanOfTrace } from '../api/wire.ts'
import { IconArrowBackUp, IconChevronLeft, IconChevronRight, IconKeyboard } from '../icons/index.ts'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { IconButton, type IconButtonProps } from '../parts/icon-button.tsx'
import { KeysHelp } from '../parts/keys-help.tsx'
import { late } from '../parts/late.tsx'
import { handle } from '../parts/use-keys.ts'
import { type QueueKind, queryOf, TITLES, withoutQueueFilter } from './filters.ts'
import { Finished } from './finished.tsx'
import classes from './inbox.module.css'
import { Item } from './item.tsx'
import { ADJUDICATION_KEYS, KEYS, useInboxKeys } from './keys.ts'
import { NotAPerson } from './not-a-person.tsx'
import { QueueProgress } from './progress.tsx'
import { promptsQuery, spanQuery, wholeIn } from './queries.ts'
import { useQueue } from './use-queue.ts'

const ViewsMenu = late(
  async () => (await import('../views/views-menu.tsx')).ViewsMenu,
  () => <Skeleton w={84} h={26} />,
)
const QueueFilters = late(
  async () => (await import('./queue-filters.tsx')).QueueFilters,
  () => <Skeleton w="min(382px, calc(100vw - 27px))" h={26} />,
)

const QueueActions = late(
  async () => (await import('./queue-actions.tsx')).QueueActions,
  () => <Skeleton w={147} h={26} />,
)

/** The review queue, one span at a time. */
export function Inbox({ projectSlug, kind }: { projectSlug: string; kind: QueueKind }) {
  const [isHelpOpen, help] = useDisclosure()
  const { data: prompts } = useQuery(promptsQuery(projectSlug))
  const { queue, filter, clearFilter, current, preview, isFinished, progress, ...act } = useQueue(projectSlug, kind)
  useInboxKeys({
    next: () => handle(() => act.move(1)),
    previous: () => handle(() => act.move(-1)),
    undo: () => handle(act.undoLast),
    help: () => handle(help.open),
  })
  return (
    <div className={classes.inbox}>
      <Group justify="space-between" gap="xs" className={classes.bar}>
        <Group gap="md" miw={0}>
          <Title order={1}>{TITLES[kind]}</Title>
          <QueueProgress {...progress} kind={kind} />
        </Group>
        <Group gap="xs">
          <QueueFilters kind={kind} steps={(prompts?.prompts ?? []).map(({ stepId }) => stepId)} />
          {kind === 'review' && <ViewsMenu page="review" queryOf={queryOf} withoutFilters={withoutQueueFilter} />}
          {kind === 'review' && <QueueActions filter={filter} projectSlug={projectSlug} />}
          <Group gap={2} wrap="nowrap">
            <BarButton label="Previous item (K)" Icon={IconChevronLeft} onClick={() => act.move(-1)} />
            <BarButton label="Next item (J)" Icon={IconChevronRight} onClick={() => act.move(1)} />
            <BarButton label="Undo last decision (U)" Icon={IconArrowBackUp} onClick={act.undoLast} />
            <BarButton label="Keyboard shortcuts (?)" Icon={IconKeyboard} onClick={help.open} />
          </Group>
        </Group>
      </Group>
      <NotAPerson />
      {current !== undefined ? (
        <Current
          key="current"
          spanId={current}
          preview={preview}
          projectSlug={projectSlug}
          onAdvance={act.advance}
          onUndo={act.undo}
          onLeave={act.leave}
        />
      ) : queue.error ? (
        <FaultAlert error={queue.error} title="Couldn't load the queue" onRetry={queue.refetch} />
      ) : isFinished ? (
        <Finished kind={kind} filter={filter} projectSlug={projectSlug} onClear={clearFilter} />
      ) : (
        <Blank />
      )}
      <KeysHelp shortcuts={kind === 'disputes' ? ADJUDICATION_KEYS : KEYS} isOpen={isHelpOpen} onClose={help.close} />
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

/** The current item, shown as soon as its preview is loaded. */
function Current({ spanId, preview, onLeave, ...item }: CurrentProps) {
  const { data: whole, error, refetch } = useQuery({ ...spanQuery(spanId), ...wholeIn(preview) })
  const span = whole ?? preview
  if (!span && error) {
    return (
      <Stack maw={640}>
        <FaultAlert error={error} title="Couldn't load this item" onRetry={refetch} />
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
      {error && !whole && <FaultAlert error={error} title="Couldn't load the full item" onRetry={refetch} />}
      <Item {...item} span={span} isWhole={whole !== undefined} />
    </>
  )
}

const BarButton = (props: Pick<IconButtonProps, 'label' | 'Icon' | 'onClick'>) => (
  <IconButton {...props} iconSize={18} />
)

/** A placeholder until the first item is loaded. */
export const Blank = () => (
  <div className={classes.blank} aria-hidden>
    <Skeleton h="60vh" />
    <Skeleton h="60vh" />
    <Skeleton h="14rem" />
  </div>
)
