import { useRef } from 'react'
import { useSearchParams } from 'wouter'
import type { DatasetItem, DatasetItems } from '../api/wire.ts'
import { withParameters } from '../parts/parameters.ts'

/** The query behind a list of items. */
export interface ItemPages {
  hasNextPage: boolean
  fetchNextPage: () => Promise<{ data?: { pages: DatasetItems[] } | undefined }>
}

/**
 * The item in the URL, and functions that move to its neighbors. Its index is -1 if it isn't among the loaded items. If
 * a change removes the item from the list, these functions move to its former neighbors.
 */
export function useChosenItem(items: readonly DatasetItem[], { hasNextPage, fetchNextPage }: ItemPages) {
  const [address, change] = useSearchParams()
  const itemId = address.get('item')
  const index = items.findIndex(({ id }) => id === itemId)
  const lastIndex = useRef(-1)
  if (index !== -1 || itemId === null) lastIndex.current = index
  const next = index === -1 ? lastIndex.current : index + 1
  const previous = index === -1 ? lastIndex.current - 1 : index - 1
  const show = (item: string | null | undefined) => change(withParameters({ item }), { replace: true })
  const showNext = async () => {
    if (next < 0) return
    const listed = items[next]
    if (listed) return show(listed.id)
    if (!hasNextPage) return
    const { data } = await fetchNextPage()
    const loaded = data?.pages.flatMap(page => page.items)[next]
    if (loaded) show(loaded.id)
  }
  const before = items[previous]
  return {
    itemId,
    index,
    version: address.get('version'),
    /** Undefined at the end of the list. */
    showNext: next >= 0 && (next < items.length || hasNextPage) ? showNext : undefined,
    /** Undefined at the beginning of the list. */
    showPrevious: before && (() => show(before.id)),
    close: () => show(null),
  }
}
