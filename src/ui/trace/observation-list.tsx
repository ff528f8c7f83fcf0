import { Button, Group, Skeleton, Stack, Switch, Text } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { JsonView } from '../json/json-view.tsx'
import { ShownText } from '../json/shown-text.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { count } from '../parts/format.ts'
import { Moment } from '../parts/moment.tsx'
import { type NamedTrace, observationsQuery } from './queries.ts'
import classes from './span-panel.module.css'

/** How many observations to show at a time: each has its own value viewer. */
const SHOWN = 30

/** A trace's observations as the pipeline sent them, for one span or the whole trace. */
export function ObservationList({ spanId, trace }: { spanId: string; trace: NamedTrace }) {
  const [isWhole, setWhole] = useState(false)
  const [limit, setLimit] = useState(SHOWN)
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(
    observationsQuery(trace),
  )
  if (error && !data) return <FaultAlert error={error} onRetry={refetch} />
  if (!data) return <Skeleton h={220} aria-label="Loading observations" />
  const all = data.pages.flatMap(({ observations }) => observations)
  const selected = isWhole ? all : all.filter(({ span_id }) => span_id === spanId)
  const isMore = selected.length > limit || hasNextPage
  return (
    <Stack gap="sm">
      <Group justify="space-between" gap="xs">
        <Text size="xs" c="dimmed" role="status">
          {isWhole
            ? `${count(selected.length)} in this trace`
            : `${count(selected.length)} on this span, ${count(all.length)} in the trace`}
          {hasNextPage && ' (loaded so far)'}
        </Text>
        <Switch
          size="xs"
          label="Whole trace"
          checked={isWhole}
          onChange={({ currentTarget }) => setWhole(currentTarget.checked)}
        />
      </Group>
      {selected.slice(0, limit).map(({ observation_id, type, key, data: value, timestamp }) => (
        <Stack key={observation_id} gap={4}>
          <Group gap="xs" fz="xs">
            <Text span inherit fw={600} dir="auto" className={classes.said}>
              {type}
              {key !== null && (
                <>
                  {' '}
                  · <ShownText text={key} />
                </>
              )}
            </Text>
            <Moment at={timestamp} precision="exact" c="dimmed" />
          </Group>
          <JsonView value={value} label={`${type}${key === null ? '' : ` ${key}`}`} maxHeight="240px" />
        </Stack>
      ))}
      {selected.length === 0 && !hasNextPage && (
        <Text c="dimmed">
          {isWhole
            ? 'No observations. The pipeline sent the values with the spans.'
            : 'No observations on this span. The pipeline sent its values with the span.'}
        </Text>
      )}
      {error && <FaultAlert error={error} onRetry={fetchNextPage} />}
      {isMore && (
        <Button
          size="xs"
          variant="default"
          loading={isFetchingNextPage}
          onClick={() => {
            setLimit(shown => shown + SHOWN)
            if (selected.length <= limit + SHOWN && hasNextPage) void fetchNextPage()
          }}
        >
          Show more
        </Button>
      )}
    </Stack>
  )
}
