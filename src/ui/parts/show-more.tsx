import { Button, Center } from '@mantine/core'
import { useIntersection } from '@mantine/hooks'
import { useEffect } from 'react'
import { FaultAlert } from './fault-alert.tsx'

interface ShowMoreProps {
  /** The state of an infinite query. */
  query: {
    hasNextPage: boolean
    isFetchingNextPage: boolean
    isFetchNextPageError: boolean
    error: Error | null
    fetchNextPage: () => unknown
  }
}

/** Loads the next page of a list when scrolled into view, or on a click. */
export function ShowMore({ query }: ShowMoreProps) {
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, error, fetchNextPage } = query
  const { ref, entry } = useIntersection({ rootMargin: '400px' })
  const isInSight = entry?.isIntersecting === true
  useEffect(() => {
    if (isInSight && hasNextPage && !isFetchingNextPage && !isFetchNextPageError) fetchNextPage()
  }, [isInSight, hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage])
  if (isFetchNextPageError && error) return <FaultAlert error={error} onRetry={fetchNextPage} />
  if (!hasNextPage) return null
  return (
    <Center ref={ref} py="sm">
      <Button variant="subtle" size="xs" loading={isFetchingNextPage} onClick={() => fetchNextPage()}>
        Show more
      </Button>
    </Center>
  )
}
