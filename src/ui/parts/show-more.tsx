import { Button, Center } from '@mantine/core'
import { useIntersection } from '@mantine/hooks'
import { useEffect } from 'react'
import { FaultAlert } from './fault-alert.tsx'

interface ShowMoreProps {
  /** What an infinite query says of itself. */
  query: {
    hasNextPage: boolean
    isFetchingNextPage: boolean
    isFetchNextPageError: boolean
    error: Error | null
    fetchNextPage: () => unknown
  }
}

/** The end of a list that goes on: more comes as it is scrolled into sight, and by a button. */
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
