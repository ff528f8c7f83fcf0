import { useSearchParams } from 'wouter'
import type { ExperimentItem } from '../api/wire.ts'
import { withParameters } from '../parts/parameters.ts'

const NONE = 'none'

/** The open item, from the URL. By default, the first item is open. */
export function useOpenItem(items: readonly ExperimentItem[]) {
  const [address, change] = useSearchParams()
  const named = address.get('item')
  const openId = named ?? items[0]?.id
  const open = (id: string) => change(withParameters({ item: id }), { replace: true })
  return {
    openId,
    toggle: (id: string) => open(id === openId ? NONE : id),
    /** Opens the next item, or the previous one (-1). */
    move: (by: 1 | -1) => {
      const index = items.findIndex(({ id }) => id === openId)
      const next = items[index === -1 ? 0 : index + by]
      if (next) open(next.id)
    },
  }
}
