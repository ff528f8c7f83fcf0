import { Text, UnstyledButton } from '@mantine/core'
import { memo } from 'react'
import { Link } from 'wouter'
import { queryClient } from '../api/query-client.ts'
import type { TraceItem } from '../api/wire.ts'
import { IconCircleCheck, IconLoader, IconMessage } from '../icons/index.ts'
import { ShownText } from '../json/shown-text.tsx'
import { count, dollars, duration, shortCount, usageDetails } from '../parts/format.ts'
import { Moment } from '../parts/moment.tsx'
import { ReviewState } from '../parts/review-state.tsx'
import { traceQuery } from '../trace/queries.ts'
import { type MetadataLeaf, metadataLeaves } from './metadata-leaves.ts'
import classes from './trace-table.module.css'

interface TraceRowProps {
  trace: TraceItem
  /** Its index in the list. */
  index: number
  /** Pixels from the list's top. */
  start: number
  project: string | undefined
  onFilter: (filter: MetadataLeaf) => void
}

const SHOWN_LEAVES = 4

/** A trace in the list: a link, with metadata to filter by. */
export const TraceRow = memo(function TraceRow({ trace, index, start, project, onFilter }: TraceRowProps) {
  const address = `/traces/${trace.id}${project === undefined ? '' : `?project=${encodeURIComponent(project)}`}`
  return (
    <tr
      aria-rowindex={index + 2}
      data-index={index}
      className={classes.row}
      style={{ transform: `translateY(${start}px)` }}
    >
      <td className={classes.time}>
        <Moment at={trace.createdAt} />
      </td>
      <td className={classes.name}>
        <Link
          href={address}
          className={classes.link}
          dir="auto"
          onPointerDown={() => void queryClient.prefetchQuery(traceQuery(trace.id))}
        >
          <ShownText text={trace.name} />
        </Link>
      </td>
      <td className={classes.status}>
        <TraceStatus status={trace.status} />
      </td>
      <td className={classes.review}>
        <ReviewState state={trace.reviewState} isStale={trace.staleCount > 0} isCompact />
        <Text span size="xs" c="dimmed" title={`${trace.reviewedCount} of ${trace.spanCount} spans reviewed`}>
          {count(trace.reviewedCount)}/{count(trace.spanCount)}
        </Text>
      </td>
      <td className={classes.feedback}>
        {trace.feedbackCount > 0 && (
          <>
            <IconMessage size={14} aria-label="Feedback" />
            {count(trace.feedbackCount)}
          </>
        )}
      </td>
      <td className={classes.duration}>{duration(trace.durationMs)}</td>
      <td className={classes.model} title={trace.model ?? undefined} dir="auto">
        {trace.model !== null && <ShownText text={trace.model} />}
      </td>
      <td className={classes.use} title={trace.usage ? usageDetails(trace.usage) : undefined}>
        {trace.usage && shortCount(trace.usage.totalTokens)}
      </td>
      <td className={classes.use} title={trace.costUsd === null ? undefined : dollars(trace.costUsd)}>
        {trace.costUsd !== null && dollars(trace.costUsd)}
      </td>
      <td className={classes.metadata}>
        {metadataLeaves(trace.metadata, SHOWN_LEAVES).map(({ path, value }, place) => (
          <UnstyledButton
            // biome-ignore lint/suspicious/noArrayIndexKey: paths may repeat, and they never move
            key={place}
            className={classes.leaf}
            dir="auto"
            title={`Only traces with ${path}=${value}`}
            onClick={() => onFilter({ path, value })}
          >
            <span className={classes.path}>
              <ShownText text={path} />=
            </span>
            <ShownText text={value} />
          </UnstyledButton>
        ))}
      </td>
    </tr>
  )
})

const TraceStatus = ({ status }: Pick<TraceItem, 'status'>) => {
  const [Icon, word] = status === 'running' ? [IconLoader, 'Running'] : [IconCircleCheck, 'Completed']
  return (
    <>
      <Icon size={14} role="img" aria-label={word} />
      <span className={classes.word} aria-hidden>
        {word}
      </span>
    </>
  )
}
