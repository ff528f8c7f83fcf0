import { Anchor, Code, Group, Title, UnstyledButton } from '@mantine/core'
import { lazy, Suspense, useState } from 'react'
import { Link } from 'wouter'
import { pathWith } from '../api/client.ts'
import type { Trace } from '../api/wire.ts'
import { conversationAddress, DEFAULT_KEY } from '../conversations/address.ts'
import { IconArrowLeft, IconCircleCheck, IconLoader } from '../icons/index.ts'
import { ShownText } from '../json/shown-text.tsx'
import { CopyIcon } from '../parts/copied-code.tsx'
import { count, duration } from '../parts/format.ts'
import { Moment } from '../parts/moment.tsx'
import { ReviewState } from '../parts/review-state.tsx'
import { useProject } from '../session/project.ts'
import { metadataName } from '../traces/filters.ts'
import { listAddress } from '../traces/list-place.ts'
import { type MetadataLeaf, metadataLeaves } from '../traces/metadata-leaves.ts'
import { ModelUse } from './model-use.tsx'
import { TraceActions } from './trace-actions.tsx'
import classes from './trace-header.module.css'

const MetadataPopover = lazy(async () => ({ default: (await import('./metadata-popover.tsx')).MetadataPopover }))

const SHOWN_LEAVES = 6

/** A trace's name, ID, time, review state, metadata, and actions. */
export function TraceHeader({ trace }: { trace: Trace }) {
  const Status = trace.status === 'running' ? IconLoader : IconCircleCheck
  return (
    <header className={classes.header}>
      <Group justify="space-between" wrap="nowrap" align="start" gap="xs">
        <div className={classes.name}>
          <BackLink />
          <Title order={1} className={classes.title} dir="auto">
            <ShownText text={trace.name} />
          </Title>
        </div>
        <TraceActions trace={trace} />
      </Group>
      <Group gap="4px 12px" className={classes.facts}>
        <span className={classes.fact}>
          <Status size={14} aria-hidden /> {trace.status === 'running' ? 'Running' : 'Completed'}
        </span>
        <Moment at={trace.createdAt} />
        {trace.durationMs !== null && <span>{duration(trace.durationMs)}</span>}
        <ModelUse model={trace.model} usage={trace.usage} costUsd={trace.costUsd} />
        <span className={classes.fact}>
          <ReviewState state={trace.reviewState} isStale={trace.staleCount > 0} />
          {count(trace.reviewedCount)} of {count(trace.spanCount)} reviewed
        </span>
        <span className={classes.fact}>
          <Code className={classes.id}>{trace.traceId}</Code>
          <CopyIcon text={trace.traceId} label="Copy trace ID" />
        </span>
      </Group>
      <Metadata metadata={trace.metadata} />
    </header>
  )
}

/** Goes back to the list as the reader left it. */
export const BackLink = () => (
  <Anchor component={Link} href={listAddress()} size="xs" className={classes.back}>
    <IconArrowLeft size={14} aria-hidden /> Traces
  </Anchor>
)

/** The path for a metadata field: to its conversation, or to the traces with the same value. */
const leafAddress = (project: string | undefined, { path, value }: MetadataLeaf): string =>
  path === DEFAULT_KEY
    ? conversationAddress(project, path, value)
    : pathWith('/traces', { project, [metadataName(path)]: value })

function Metadata({ metadata }: Pick<Trace, 'metadata'>) {
  const project = useProject()
  const leaves = metadataLeaves(metadata, SHOWN_LEAVES)
  if (leaves.length === 0) return null
  return (
    <Group gap={6}>
      {leaves.map((leaf, index) => (
        <Link
          // biome-ignore lint/suspicious/noArrayIndexKey: paths may repeat, and they never move
          key={index}
          href={leafAddress(project, leaf)}
          className={classes.leaf}
          title={
            leaf.path === DEFAULT_KEY ? `Read the conversation ${leaf.value}` : `Traces with ${leaf.path}=${leaf.value}`
          }
          dir="auto"
        >
          <span className={classes.path}>
            <ShownText text={leaf.path} />=
          </span>
          <ShownText text={leaf.value} />
        </Link>
      ))}
      <AllMetadata metadata={metadata} />
    </Group>
  )
}

/** Opens the whole metadata, which loads on first use. */
function AllMetadata({ metadata }: Pick<Trace, 'metadata'>) {
  const [isUsed, setUsed] = useState(false)
  const button = (
    <UnstyledButton className={classes.all} aria-haspopup="dialog" onClick={() => setUsed(true)}>
      All metadata
    </UnstyledButton>
  )
  if (!isUsed) return button
  return (
    <Suspense fallback={button}>
      <MetadataPopover metadata={metadata} />
    </Suspense>
  )
}
