import { Badge, Button, Group, Skeleton, Stack, Text } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useNames } from '../api/names.ts'
import type { Review } from '../api/wire.ts'
import { CodeDiff } from '../code/index.tsx'
import { Said } from '../json/said.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { Moment } from '../parts/moment.tsx'
import { useMay } from '../parts/scopes.tsx'
import { useErrorTypeNames } from '../session/error-type-names.ts'
import { reviewsQuery } from './queries.ts'
import classes from './span-panel.module.css'

const BASES = { votes: 'matching votes', adjudication: 'adjudication' }

const WORDS = { accept: 'Accepted', correct: 'Corrected', reset: 'Undone' }

/** Every decision on a span, newest first. */
export function ReviewHistory({ spanId }: { spanId: string }) {
  const mayRead = useMay('review') ?? true
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    ...reviewsQuery(spanId),
    enabled: mayRead,
  })
  const reviews = data?.pages.flatMap(page => page.reviews) ?? []
  const names = useNames(reviews.map(({ by }) => by))
  if (!mayRead) return <Text c="dimmed">You need the “review” scope to see past reviews.</Text>
  if (error) return <FaultAlert error={error} onRetry={refetch} />
  if (!data) return <Skeleton h={120} aria-label="Loading reviews" />
  if (reviews.length === 0) return <Text c="dimmed">No reviews of this span yet.</Text>
  return (
    <Stack gap="xs">
      {reviews.map(review => (
        <Decided key={review.id} review={review} name={names.get(review.by)} />
      ))}
      {hasNextPage && (
        <Button size="xs" variant="default" loading={isFetchingNextPage} onClick={() => fetchNextPage()}>
          Show more
        </Button>
      )}
    </Stack>
  )
}

function Decided({ review, name }: { review: Review; name: string | undefined }) {
  const [isOpen, setOpen] = useState(false)
  const typeName = useErrorTypeNames()
  const { decision, at, importedAt, basis, comment, errorType, before, after } = review
  return (
    <Stack gap={6} className={classes.card}>
      <Group justify="space-between" gap="xs">
        <Group gap="xs" fz="xs" c="dimmed">
          <Badge variant="default" tt="none" fw={500}>
            {WORDS[decision]}
          </Badge>
          <span>by {name ?? '…'}</span>
          <Moment at={at} />
          {importedAt !== null && <span>· imported</span>}
          {basis !== null && <span>· {BASES[basis]}</span>}
        </Group>
        <Button size="compact-xs" variant="subtle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Hide changes' : 'Show changes'}
        </Button>
      </Group>
      {errorType !== null && <Text size="sm">Error type: {typeName(errorType)}</Text>}
      {comment !== null && <Said text={comment} />}
      {isOpen && (
        <CodeDiff
          before={before === null ? '' : JSON.stringify(before, undefined, 2)}
          after={after === null ? '' : JSON.stringify(after, undefined, 2)}
          label="Approved output before and after"
        />
      )}
    </Stack>
  )
}
