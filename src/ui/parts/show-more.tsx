import { Button, Center, Text } from '@mantine/core'
import { useIntersection } from '@mantine/hooks'
import { useEffect } from 'react'
import { FaultAlert } from './fault-alert.tsx'
import { Moment } from './moment.tsx'

interface ShowMoreProps {
  /** The state of an infinite query. */
  query: {
    hasNextPage: boolean
    isFetchingNextPage: boolean
    isFetchNextPageError: boolean
    error: Error | null
    fetchNextPage: () => unknown
  }
  /** Whether the next page loads only on a click. */
  isPaused?: boolean
  /** How far back (ISO 8601) the search went. */
  searchedTo?: string | null | undefined
}

/** Loads the next page of a list when scrolled into view, or on a click. */
export function ShowMore({ query, isPaused = false, searchedTo }: ShowMoreProps) {
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, error, fetchNextPage } = query
  const { ref, entry } = useIntersection({ rootMargin: '400px' })
  const isInSight = entry?.isIntersecting === true
  useEffect(() => {
    if (isInSight && !isPaused && hasNextPage && !isFetchingNextPage && !isFetchNextPageError) fetchNextPage()
  }, [isInSight, isPaused, hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage])
  if (isFetchNextPageError && error) return <FaultAlert error={error} onRetry={fetchNextPage} />
  if (!hasNextPage) return null
  return (
    <Center ref={ref} py="sm" role="status">
      {searchedTo && (
        <Text size="xs" c="dimmed">
          Searched back to <Moment at={searchedTo} />.
        </Text>
      )}
      <Button variant="subtle" size="xs" loading={isFetchingNextPage} onClick={() => fetchNextPage()}>
        Show more
      </Button>
    </Center>
  )
}
