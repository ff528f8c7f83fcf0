import { Skeleton, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo, useState } from 'react'
import { useLocation, useParams } from 'wouter'
import { Fault } from '../api/client.ts'
import { errorTypesQuery } from '../api/error-types.ts'
import type { Trace } from '../api/wire.ts'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { useProject, useProjectOfPage } from '../session/project.ts'
import { updateLists } from '../traces/queries.ts'
import { Attribution } from './attribution.tsx'
import { MissingSpan } from './missing-span.tsx'
import { More } from './more.tsx'
import classes from './page.module.css'
import { placeOf } from './place.ts'
import { attributionsQuery, isGone, traceQuery } from './queries.ts'
import { SpanList } from './span-list.tsx'
import { SpanPanel } from './span-panel.tsx'
import { spanTree } from './span-tree.ts'
import { BackLink, TraceHeader } from './trace-header.tsx'
import { useChosen } from './use-chosen.ts'

/** One run of a pipeline. */
export function Page() {
  const { traceId = '' } = useParams<{ traceId: string }>()
  const { data: trace, error, refetch } = useQuery(traceQuery(traceId))
  usePageTitle(trace?.name ?? 'Trace')
  // These requests start at the same time as the request for the trace.
  useQuery(attributionsQuery(traceId))
  useQuery(errorTypesQuery(useProject()))
  useEffect(() => {
    if (trace) updateLists(trace)
  }, [trace])
  if (trace && !isGone(error)) return <OneTrace trace={trace} />
  if (error) return <NoTrace error={error} onRetry={refetch} />
  return (
    <div className={classes.page}>
      <Title order={1} className={classes.loading}>
        Trace
      </Title>
      <Skeleton h={84} />
      <Skeleton h={38} />
      <div className={classes.body}>
        <Skeleton />
        <Skeleton />
      </div>
    </div>
  )
}

function OneTrace({ trace }: { trace: Trace }) {
  const project = trace.project.slug
  useProjectOfPage(project)
  const [, navigate] = useLocation()
  const { spanId, section, place, choose, show, jump } = useChosen()
  const { spans, feedback, createdAt, durationMs } = trace
  const tree = useMemo(() => spanTree(spans, { createdAt, durationMs }), [spans, createdAt, durationMs])
  const withFeedback = useMemo(() => new Set(feedback.map(item => item.spanId)), [feedback])
  const root = tree.rows[0]?.span
  const span = tree.rows[tree.indexOf.get(spanId ?? '') ?? 0]?.span
  const named = useMemo(() => ({ traceId: trace.traceId, project }), [trace.traceId, project])
  const stepOf = useCallback((id: string) => tree.rows[tree.indexOf.get(id) ?? -1]?.span.stepId, [tree])
  const onJump = useCallback(
    (id: string | null, path: string) => {
      if (path.startsWith('knowledgeDocs')) navigate('/knowledge-docs')
      else if (id !== null || placeOf(path)) jump(id ?? root?.id ?? '', path)
    },
    [jump, navigate, root],
  )
  const ofSpan = useMemo(() => feedback.filter(item => item.spanId === span?.id), [feedback, span?.id])
  const isMissing = spanId !== null && !tree.indexOf.has(spanId)
  const [isAtEnd, setAtEnd] = useState(false)
  const isWanted = isAtEnd || isMissing
  const moreSpans = useMemo(() => <More trace={trace} list="spans" isWanted={isWanted} />, [trace, isWanted])
  return (
    <div className={classes.page}>
      <TraceHeader trace={trace} />
      <Attribution id={trace.id} trace={named} stepOf={stepOf} onJump={onJump} />
      <More trace={trace} list="feedback" isWanted={false} />
      {isMissing && trace.nextSpanCursor === null && <MissingSpan spanId={spanId} />}
      {span ? (
        <div className={classes.body}>
          <SpanList
            tree={tree}
            chosenId={span.id}
            withFeedback={withFeedback}
            onChoose={choose}
            onEnd={setAtEnd}
            more={moreSpans}
          />
          <SpanPanel
            span={span}
            feedback={ofSpan}
            id={trace.id}
            trace={named}
            section={section}
            place={place}
            onSection={show}
          />
        </div>
      ) : (
        <Text c="dimmed">No spans yet.</Text>
      )}
    </div>
  )
}

function NoTrace({ error, onRetry }: { error: Error; onRetry: () => unknown }) {
  if (!isGone(error)) return <FaultAlert error={error} title="Couldn't load the trace" onRetry={onRetry} />
  const isAbsent = error instanceof Fault && error.status === 404
  return (
    <Stack gap="sm" py="xl">
      <BackLink />
      <Title order={1}>{isAbsent ? 'Trace not found' : "You don't have access to this trace"}</Title>
      <Text size="sm">
        {isAbsent
          ? 'It may have been deleted, or the link may be wrong.'
          : "It belongs to another organization, or to a project that your key can't read."}
      </Text>
    </Stack>
  )
}
