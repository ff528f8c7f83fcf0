import { Text, UnstyledButton } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { pathWith } from '../api/client.ts'
import { queryClient } from '../api/query-client.ts'
import type { TraceItem } from '../api/wire.ts'
import { conversationAddress, DEFAULT_KEY } from '../conversations/address.ts'
import { IconCircleCheck, IconLoader, IconMessage } from '../icons/index.ts'
import { ShownText } from '../json/shown-text.tsx'
import { count, counted, dollars, duration, shortCount, usageDetails } from '../parts/format.ts'
import { Moment } from '../parts/moment.tsx'
import { ReviewState } from '../parts/review-state.tsx'
import { traceQuery } from '../trace/queries.ts'
import { type MetadataLeaf, metadataLeaves } from './metadata-leaves.ts'
import { plainPreview } from './plain-preview.ts'
import classes from './trace-table.module.css'

/** What cells need besides their trace. */
export interface CellContext {
  project: string | undefined
  typeName: (errorType: string) => string
  /** The text that the reader searched for in the list. */
  contains: string | null
  onFilter: (leaf: MetadataLeaf) => void
}

interface TraceColumn {
  label: string
  /** The minimum width in pixels. */
  width: number
  /** The column's share of the remaining width. */
  grow?: number
  isNumber?: boolean
  /** The API's name for sorting by this column. */
  sort?: string
  /** Whether the column is shown in small type. */
  isSmall?: boolean
  cell: (trace: TraceItem, context: CellContext) => ReactNode
}

const SHOWN_LEAVES = 4
/** Token counts of at least this number are rounded. */
const MANY_TOKENS = 100_000

/** The columns that the table can show. */
export const COLUMNS = {
  time: {
    label: 'Time',
    width: 108,
    isSmall: true,
    cell: ({ createdAt }) => <Moment at={createdAt} precision="brief" />,
  },
  name: {
    label: 'Name',
    width: 120,
    grow: 1,
    cell: (trace, { project }) => (
      <>
        <Link
          href={pathWith(`/traces/${trace.id}`, { project })}
          className={classes.link}
          dir="auto"
          onPointerDown={() => void queryClient.prefetchQuery(traceQuery(trace.id))}
        >
          <ShownText text={trace.name} />
        </Link>
        {trace.status === 'running' && (
          <IconLoader size={13} className={classes.running} role="img" aria-label="Running" />
        )}
      </>
    ),
  },
  input: {
    label: 'Input',
    width: 120,
    grow: 1.6,
    cell: ({ inputPreview }) => <Preview text={inputPreview} />,
  },
  output: {
    label: 'Output',
    width: 150,
    grow: 2,
    cell: ({ outputPreview }) => <Preview text={outputPreview} />,
  },
  review: {
    label: 'Review',
    width: 134,
    cell: ({ reviewState, staleCount, reviewedCount, spanCount }) => (
      <span title={`${count(reviewedCount)} of ${counted(spanCount, 'span')} reviewed`}>
        <ReviewState state={reviewState} isStale={staleCount > 0} isCompact />
      </span>
    ),
  },
  errorType: {
    label: 'Error type',
    width: 104,
    grow: 0.8,
    cell: ({ errorType, errorTypeBy }, { typeName }) =>
      errorType !== null && (
        <span title={errorTypeBy === 'engine' ? 'From the attribution engine' : 'Set by a reviewer'}>
          {errorTypeBy === 'engine' && <span className={classes.quiet}>engine: </span>}
          <ShownText text={typeName(errorType)} />
        </span>
      ),
  },
  model: {
    label: 'Model',
    width: 84,
    isSmall: true,
    grow: 0.5,
    cell: ({ model }) =>
      model !== null && (
        <span title={model} dir="auto">
          <ShownText text={model} />
        </span>
      ),
  },
  tokens: {
    label: 'Tokens',
    width: 50,
    isSmall: true,
    isNumber: true,
    cell: ({ usage }) =>
      usage && (
        <span title={usageDetails(usage)}>
          {(usage.totalTokens < MANY_TOKENS ? count : shortCount)(usage.totalTokens)}
        </span>
      ),
  },
  cost: {
    label: 'Cost',
    sort: 'cost',
    width: 78,
    isSmall: true,
    isNumber: true,
    cell: ({ costUsd }) => costUsd !== null && dollars(costUsd),
  },
  duration: {
    label: 'Duration',
    sort: 'duration',
    width: 60,
    isSmall: true,
    isNumber: true,
    cell: ({ durationMs }) => duration(durationMs),
  },
  status: {
    label: 'Status',
    width: 92,
    cell: ({ status }) => {
      const [Icon, word] = status === 'running' ? [IconLoader, 'Running'] : [IconCircleCheck, 'Completed']
      return (
        <span className={classes.marked}>
          <Icon size={14} aria-hidden /> {word}
        </span>
      )
    },
  },
  feedback: {
    label: 'Feedback',
    width: 60,
    cell: ({ feedbackCount }) =>
      feedbackCount > 0 && (
        <span className={classes.marked}>
          <IconMessage size={14} aria-hidden /> {count(feedbackCount)}
        </span>
      ),
  },
  spans: {
    label: 'Spans',
    width: 72,
    isNumber: true,
    cell: ({ reviewedCount, spanCount }) => (
      <span title={`${count(reviewedCount)} of ${counted(spanCount, 'span')} reviewed`}>
        {count(reviewedCount)}/{count(spanCount)}
      </span>
    ),
  },
  metadata: {
    label: 'Metadata',
    width: 120,
    grow: 1.6,
    cell: ({ metadata }, context) => (
      <div className={classes.metadata}>
        {metadataLeaves(metadata, SHOWN_LEAVES).map((leaf, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: paths may repeat, and they never move
          <Leaf key={place} {...leaf} {...context} />
        ))}
      </div>
    ),
  },
} as const satisfies Record<string, TraceColumn>

/** A metadata field: a link to its conversation, or a button that filters by it. */
function Leaf({ path, value, project, onFilter }: MetadataLeaf & CellContext) {
  const text = (
    <>
      <span className={classes.quiet}>
        <ShownText text={path} />=
      </span>
      <ShownText text={value} />
    </>
  )
  return path === DEFAULT_KEY ? (
    <Link
      href={conversationAddress(project, path, value)}
      className={classes.leaf}
      dir="auto"
      title={`Read the conversation ${value}`}
    >
      {text}
    </Link>
  ) : (
    <UnstyledButton
      className={classes.leaf}
      dir="auto"
      title={`Only traces with ${path}=${value}`}
      onClick={() => onFilter({ path, value })}
    >
      {text}
    </UnstyledButton>
  )
}

export type ColumnId = keyof typeof COLUMNS

/** A column of the table. */
export const columnOf = (id: ColumnId): TraceColumn => COLUMNS[id]

export const isColumn = (value: unknown): value is ColumnId =>
  typeof value === 'string' && Object.hasOwn(COLUMNS, value)

/** The columns on a narrow screen, where a row takes several lines. */
export const NARROW_COLUMNS: readonly ColumnId[] = ['name', 'review', 'output', 'time', 'errorType']

/** The beginning of a value, on one line. */
const Preview = ({ text }: { text: string | null }) =>
  text === null ? (
    <Text span inherit c="dimmed">
      –
    </Text>
  ) : (
    <span dir="auto" title={text}>
      <ShownText text={plainPreview(text)} />
    </span>
  )
