import { useInfiniteQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { apiKeysQuery, usersQuery } from './queries.ts'

/** All of the organization's users. The list grows as its pages load. */
export function useAllUsers() {
  const { data, ...query } = useInfiniteQuery(usersQuery)
  useWholeList(query)
  return data?.pages.flatMap(page => page.users) ?? []
}

/** All of the organization's API keys. The list grows as its pages load. */
export function useAllKeys() {
  const { data, ...query } = useInfiniteQuery(apiKeysQuery)
  useWholeList(query)
  return data?.pages.flatMap(page => page.apiKeys) ?? []
}

interface Paged {
  hasNextPage: boolean
  isFetching: boolean
  isError: boolean
  fetchNextPage: () => unknown
}

function useWholeList({ hasNextPage, isFetching, isError, fetchNextPage }: Paged): void {
  useEffect(() => {
    if (hasNextPage && !isFetching && !isError) fetchNextPage()
  }, [hasNextPage, isFetching, isError, fetchNextPage])
}
