import { Anchor, Button, Code, Group, Text } from '@mantine/core'
import { Link } from 'wouter'
import { Empty } from '../parts/empty.tsx'
import { useFirstTrace } from '../parts/first-trace.ts'
import { itemCount } from '../parts/format.ts'
import type { QueueFilter, QueueKind } from './filters.ts'
import { withNoneSkipped } from './sitting.ts'
import { useDesk, useSitting } from './use-desk.ts'

interface FinishedProps {
  kind: QueueKind
  filter: QueueFilter
  projectSlug: string
  onClear: () => void
}

/** Shown when the queue is done, with next steps. */
export function Finished({ kind, filter, projectSlug, onClear }: FinishedProps) {
  const desk = useDesk()
  const { skipped, decidedAt } = useSitting()
  const firstTrace = useFirstTrace(projectSlug)
  const isFiltered = filter.assignee !== '' || filter.stepId !== '' || filter.name !== ''
  const title = titleFor({ isFiltered, hasSkipped: skipped.size > 0, hasDecided: decidedAt.length > 0 })
  const isNew = kind === 'review' && !isFiltered && decidedAt.length === 0
  return (
    <Empty title={kind === 'review' || skipped.size > 0 ? title : 'No disputes'} {...(isNew && { curl: firstTrace })}>
      <Text size="sm" inherit mb="sm">
        {skipped.size > 0
          ? `You skipped ${itemCount(skipped.size)}. ${REST[kind]}`
          : kind === 'disputes'
            ? `Reviewers agree on every ${isFiltered ? 'matching output' : 'output'}, or haven't all voted yet. Disputes appear here automatically.`
            : `Every ${isFiltered ? 'matching output' : 'output'} has been reviewed, or someone else is reviewing it. New outputs appear here automatically.`}
      </Text>
      <Group gap="xs">
        {skipped.size > 0 && (
          <Button size="xs" onClick={() => desk.sitting.change(withNoneSkipped)}>
            {kind === 'disputes' ? 'Go back to skipped items' : 'Review skipped items'}
          </Button>
        )}
        {isFiltered && (
          <Button size="xs" variant="default" onClick={onClear}>
            Clear filters
          </Button>
        )}
        <Anchor component={Link} href="/traces" size="sm">
          View traces
        </Anchor>
        <Anchor component={Link} href="/" size="sm">
          See what to fix next
        </Anchor>
      </Group>
      {isNew && (
        <Text size="sm" inherit mt="sm">
          Spans with an output appear here for review. To send one, use a key with the <Code>ingest</Code> scope:
        </Text>
      )}
    </Empty>
  )
}

const REST: Readonly<Record<QueueKind, string>> = {
  review: 'Everything else has been reviewed, or someone else is reviewing it.',
  disputes: 'Every other dispute has been decided.',
}

function titleFor({ isFiltered, hasSkipped, hasDecided }: Record<'isFiltered' | 'hasSkipped' | 'hasDecided', boolean>) {
  if (hasSkipped) return 'Only skipped items are left'
  if (hasDecided) return 'All done. Nice work!'
  return isFiltered ? 'No outputs match these filters' : 'The queue is empty'
}
