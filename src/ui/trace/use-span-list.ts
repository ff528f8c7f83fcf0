import { useDebouncedCallback, useHotkeys } from '@mantine/hooks'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import type { Span } from '../api/wire.ts'
import { kindOf } from './span-kind.ts'
import { LINE_HEIGHT } from './span-line.tsx'
import { foldedToShow, foundRows, type SpanTree, unfoldedRows } from './span-tree.ts'
import { treeAction } from './tree-keys.ts'

export interface SpanListOptions {
  tree: SpanTree<Span>
  chosenId: string | undefined
  onChoose: (spanId: string) => void
  /** Called when the last line comes into view or leaves it. */
  onEnd: (isAtEnd: boolean) => void
}

/** Holding down a key moves through many spans. Only the last span opens and goes into the URL. */
const STAY_MS = 120
const NOTHING: ReadonlySet<string> = new Set()

/** The list's lines, the active line, and the actions on them. */
export function useSpanList({ tree, chosenId, onChoose, onEnd }: SpanListOptions) {
  const container = useRef<HTMLDivElement>(null)
  const search = useSearch(tree)
  const { found } = search
  const { folded, ...folding } = useFolding(tree, chosenId)
  const rows = useMemo(() => found?.rows ?? unfoldedRows(tree, folded), [found, tree, folded])
  const [activeId, setActive] = useState(chosenId)
  useEffect(() => setActive(chosenId), [chosenId])
  const activeIndex = useMemo(() => rows.findIndex(({ span }) => span.id === activeId), [rows, activeId])
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => container.current,
    estimateSize: () => LINE_HEIGHT,
    getItemKey: index => rows[index]?.span.id ?? index,
    overscan: 16,
  })
  const scrolledTo = useRef<string>(undefined)
  useEffect(() => {
    if (activeId === undefined || activeIndex < 0 || scrolledTo.current === activeId) return
    scrolledTo.current = activeId
    virtualizer.scrollToIndex(activeIndex, { align: 'auto' })
  }, [activeId, activeIndex, virtualizer])

  const isFolded = (id: string) => found === undefined && folded.has(id)
  const stay = useDebouncedCallback(onChoose, STAY_MS)
  const open = (id: string) => {
    // Cancel any pending keyboard move.
    stay.cancel()
    setActive(id)
    onChoose(id)
  }
  /** Runs a key's action. Returns whether the key has an action. */
  const press = (key: string): boolean => {
    const page = Math.floor((container.current?.clientHeight ?? 0) / LINE_HEIGHT) - 1
    const action = treeAction(key, { rows, index: activeIndex, isFolded, page })
    if (!action) return false
    if ('fold' in action) folding.fold(action.fold, true)
    else if ('open' in action) folding.fold(action.open, false)
    else {
      const row = rows[action.to]
      if (!row) return false
      setActive(row.span.id)
      stay(row.span.id)
    }
    return true
  }
  useHotkeys([
    ['J', () => press('j')],
    ['K', () => press('k')],
  ])

  const items = virtualizer.getVirtualItems()
  const isAtEnd = found === undefined && items.at(-1)?.index === rows.length - 1
  useEffect(() => onEnd(isAtEnd), [onEnd, isAtEnd])
  return {
    ...search,
    ...folding,
    container,
    rows,
    /** The lines that are on the page. */
    items,
    height: virtualizer.getTotalSize(),
    activeId,
    isActiveShown: items.some(({ index }) => index === activeIndex),
    isFolded,
    open,
    press,
  }
}

function useSearch(tree: SpanTree<Span>) {
  const [typed, type] = useState('')
  const term = useDeferredValue(typed.trim().toLowerCase())
  const found = useMemo(() => (term === '' ? undefined : foundRows(tree, span => isFound(span, term))), [tree, term])
  return { typed, type, found }
}

/** Whether a span's step, ID, status, review state, or kind matches the search. */
const isFound = (span: Span, term: string): boolean =>
  span.stepId.toLowerCase().includes(term) ||
  span.id === term ||
  span.status === term ||
  span.review.state === term ||
  kindOf(span)?.label.toLowerCase() === term

function useFolding(tree: SpanTree<Span>, chosenId: string | undefined) {
  const [folded, setFolded] = useState(NOTHING)
  useEffect(() => {
    if (chosenId !== undefined) setFolded(current => foldedToShow(tree, chosenId, current))
  }, [tree, chosenId])
  return {
    folded,
    fold: (id: string, isToFold: boolean) =>
      setFolded(current => {
        const next = new Set(current)
        if (isToFold) next.add(id)
        else next.delete(id)
        return next
      }),
    foldAll: () =>
      setFolded(
        new Set(tree.rows.filter(({ childCount, depth }) => childCount > 0 && depth > 0).map(({ span }) => span.id)),
      ),
    unfoldAll: () => setFolded(NOTHING),
  }
}
