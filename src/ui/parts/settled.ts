import type { Query } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'
import { queryClient } from '../api/query-client.ts'

/** How long a page must make no requests before it counts as settled. */
const QUIET_MS = 100

let isSettled = false
const listeners = new Set<() => void>()

function settle(): void {
  isSettled = true
  for (const listener of listeners) listener()
}

/** Marks a query for a part of the page that isn't needed at first. */
export const SUPPLEMENT = { isSupplement: true }

const isAwaited = ({ meta }: Pick<Query, 'meta'>): boolean => meta?.isSupplement !== true

/** Watches the first page's requests from the moment its script runs. */
export function watchFirstPage(): () => void {
  if (isSettled) return () => undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  const check = () => {
    clearTimeout(timer)
    if (queryClient.isFetching({ predicate: isAwaited }) === 0) timer = setTimeout(settle, QUIET_MS)
  }
  const unsubscribe = queryClient.getQueryCache().subscribe(check)
  check()
  return () => {
    clearTimeout(timer)
    unsubscribe()
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Whether the first page has its data. Anything that isn't needed before then loads afterward and delays nothing. */
export const useSettled = (): boolean => useSyncExternalStore(subscribe, () => isSettled)

/** Loads what's likely to be needed next, once the first page has its data. */
export function usePreload(load: () => Promise<unknown>): void {
  const isReady = useSettled()
  // biome-ignore lint/correctness/useExhaustiveDependencies: modules load once, no matter which component asks
  useEffect(() => {
    // A failure is reported when the module is needed.
    if (isReady) load().catch(() => undefined)
  }, [isReady])
}
