import { Button, Group, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { Trace } from '../api/wire.ts'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { count } from '../parts/format.ts'
import { readMore } from './queries.ts'

const NAMES = { spans: 'spans', feedback: 'pieces of feedback' }

/**
 * Shows how much of a trace is loaded, and loads more: on a click, or automatically while `isWanted`. Items load in
 * chronological order, regardless of their place in the tree.
 */
export function More({ trace, list, isWanted }: { trace: Trace; list: 'spans' | 'feedback'; isWanted: boolean }) {
  const { mutate, isPending, error } = useMutation({ mutationFn: () => readMore(trace, list) })
  const [cursor, total] =
    list === 'spans' ? [trace.nextSpanCursor, trace.spanCount] : [trace.nextFeedbackCursor, trace.feedbackCount]
  useEffect(() => {
    if (isWanted && cursor !== null && !isPending && !error) mutate()
  }, [isWanted, cursor, isPending, error, mutate])
  if (cursor === null) return null
  if (error) return <FaultAlert error={error} title="Couldn't load more" onRetry={() => mutate()} />
  return (
    <Group gap="xs" justify="space-between" wrap="nowrap" p="4px 8px">
      <Text size="xs" c="dimmed">
        The first {count(trace[list].length)} of {count(total)} {NAMES[list]}
      </Text>
      <Button variant="default" size="compact-xs" loading={isPending} onClick={() => mutate()}>
        Load more
      </Button>
    </Group>
  )
}
