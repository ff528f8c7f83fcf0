import { useCallback, useMemo, useState } from 'react'

/** Something in a list. */
interface Listed {
  id: string
}

/** The selected items of a list. */
export interface Selection<Item extends Listed> {
  /** In the list's order. */
  items: readonly Item[]
  ids: ReadonlySet<string>
  /** Selects or deselects an item and, with `isRange`, all items between it and the previously clicked one. */
  toggle: (id: string, isRange: boolean) => void
  /** Selects all loaded items, or none if all are selected. */
  toggleAll: () => void
}

interface Chosen {
  /** The list that the IDs were chosen from. */
  list: string
  ids: ReadonlySet<string>
  /** The item that was last selected or deselected. */
  lastId: string | null
}

const NONE: ReadonlySet<string> = new Set()

const noneIn = (list: string): Chosen => ({ list, ids: NONE, lastId: null })

/** Selects items in a list. In a different list, nothing is selected, and items that leave a list are deselected. */
export function useSelection<Item extends Listed>(list: string, listed: readonly Item[]): Selection<Item> {
  const [state, setState] = useState(() => noneIn(list))
  const chosen = state.list === list ? state.ids : NONE
  const items = useMemo(() => listed.filter(({ id }) => chosen.has(id)), [listed, chosen])
  const ids = useMemo(() => new Set(items.map(({ id }) => id)), [items])
  const toggle = useCallback(
    (id: string, isRange: boolean) =>
      setState(before => {
        const current = before.list === list ? before : noneIn(list)
        const isAdded = !current.ids.has(id)
        const next = new Set(current.ids)
        for (const each of isRange ? between(listed, current.lastId, id) : [id]) {
          if (isAdded) next.add(each)
          else next.delete(each)
        }
        return { list, ids: next, lastId: id }
      }),
    [list, listed],
  )
  const toggleAll = () =>
    setState(
      ids.size === listed.length ? noneIn(list) : { list, ids: new Set(listed.map(({ id }) => id)), lastId: null },
    )
  return { items, ids, toggle, toggleAll }
}

/** The IDs from one item to another, in either direction. Only the second ID if the first item isn't listed. */
function between(listed: readonly Listed[], from: string | null, to: string): string[] {
  const [start, end] = [from, to].map(id => listed.findIndex(item => item.id === id)).toSorted((a, b) => a - b)
  if (start === undefined || end === undefined || start < 0) return [to]
  return listed.slice(start, end + 1).map(({ id }) => id)
}
