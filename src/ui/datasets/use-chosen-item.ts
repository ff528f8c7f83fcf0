import { useSearchParams } from 'wouter'
import type { DatasetItem, DatasetItems } from '../api/wire.ts'
import { withParameters } from '../parts/parameters.ts'

/** The query behind a list of items. */
export interface ItemPages {
  hasNextPage: boolean
  fetchNextPage: () => Promise<{ data?: { pages: DatasetItems[] } | undefined }>
}

/** The item in the URL, and how to move from it. Its index is -1 if it isn't among the loaded items. */
export function useChosenItem(items: readonly DatasetItem[], { hasNextPage, fetchNextPage }: ItemPages) {
  const [address, change] = useSearchParams()
  const itemId = address.get('item')
  const index = items.findIndex(({ id }) => id === itemId)
  const show = (item: string | null | undefined) => change(withParameters({ item }), { replace: true })
  const move = async (step: 1 | -1) => {
    if (index === -1) return
    const next = items[index + step]
    if (next) return show(next.id)
    if (step === -1 || !hasNextPage) return
    const { data } = await fetchNextPage()
    const loaded = data?.pages.flatMap(page => page.items)[index + 1]
    if (loaded) show(loaded.id)
  }
  return { itemId, index, version: address.get('version'), move, close: () => show(null) }
}
