import { ActionIcon, CloseButton, Group, Text, TextInput, Tooltip } from '@mantine/core'
import { useDebouncedCallback, useHotkeys } from '@mantine/hooks'
import { useVirtualizer } from '@tanstack/react-virtual'
import { memo, type ReactNode, useCallback, useDeferredValue, useEffect, useId, useMemo, useRef, useState } from 'react'
import type { Span } from '../api/wire.ts'
import { IconFoldDown, IconFoldUp, IconSearch } from '../icons/index.ts'
import { count, duration } from '../parts/format.ts'
import { kindOf } from './span-kind.ts'
import { LINE_HEIGHT, SpanLine } from './span-line.tsx'
import classes from './span-list.module.css'
import { foldedToShow, foundRows, type SpanTree, unfoldedRows } from './span-tree.ts'
import { treeAction } from './tree-keys.ts'

interface SpanListProps {
  tree: SpanTree<Span>
  chosenId: string | undefined
  /** The IDs of spans with feedback. */
  withFeedback: ReadonlySet<string>
  onChoose: (spanId: string) => void
  /** Called when the last line comes into view or leaves it. */
  onEnd: (isAtEnd: boolean) => void
  /** Shown below the list. */
  more: ReactNode
}

/** Holding a key moves through many spans. Only the span it stops on opens and goes into the URL. */
const STAY_MS = 120
const NOTHING: ReadonlySet<string> = new Set()
const TICKS = [0, 0.25, 0.5, 0.75, 1]

/** A trace's spans: a tree with a timeline. Only the visible lines are in the page. */
export const SpanList = memo(function SpanList({ tree, chosenId, withFeedback, onChoose, onEnd, more }: SpanListProps) {
  const treeId = useId()
  const container = useRef<HTMLDivElement>(null)
  const [folded, setFolded] = useState(NOTHING)
  const [typed, setTyped] = useState('')
  const sought = useDeferredValue(typed.trim().toLowerCase())
  const found = useMemo(
    () => (sought === '' ? undefined : foundRows(tree, span => isFound(span, sought))),
    [tree, sought],
  )
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

  useEffect(() => {
    if (chosenId !== undefined) setFolded(current => foldedToShow(tree, chosenId, current))
  }, [tree, chosenId])
  const scrolledTo = useRef<string>(undefined)
  useEffect(() => {
    if (activeId === undefined || activeIndex < 0 || scrolledTo.current === activeId) return
    scrolledTo.current = activeId
    virtualizer.scrollToIndex(activeIndex, { align: 'auto' })
  }, [activeId, activeIndex, virtualizer])

  const stay = useDebouncedCallback(onChoose, STAY_MS)
  const isFolded = useCallback((id: string) => found === undefined && folded.has(id), [found, folded])
  const fold = useCallback(
    (id: string, isToFold: boolean) =>
      setFolded(current => {
        const next = new Set(current)
        if (isToFold) next.add(id)
        else next.delete(id)
        return next
      }),
    [],
  )
  const go = (id: string) => {
    // Cancel any pending keyboard move.
    stay.cancel()
    setActive(id)
    onChoose(id)
  }
  const onKey = useCallback(
    (key: string): boolean => {
      const page = Math.floor((container.current?.clientHeight ?? 0) / LINE_HEIGHT) - 1
      const action = treeAction(key, { rows, index: activeIndex, isFolded, page })
      if (!action) return false
      if ('fold' in action) fold(action.fold, true)
      else if ('open' in action) fold(action.open, false)
      else {
        const row = rows[action.to]
        if (!row) return false
        setActive(row.span.id)
        stay(row.span.id)
      }
      return true
    },
    [rows, activeIndex, isFolded, fold, stay],
  )
  useHotkeys([
    ['J', () => onKey('j')],
    ['K', () => onKey('k')],
  ])

  const foldAll = () =>
    setFolded(
      new Set(tree.rows.filter(({ childCount, depth }) => childCount > 0 && depth > 0).map(({ span }) => span.id)),
    )
  const items = virtualizer.getVirtualItems()
  const isAtEnd = found === undefined && items.at(-1)?.index === rows.length - 1
  useEffect(() => onEnd(isAtEnd), [onEnd, isAtEnd])
  const isActiveShown = items.some(({ index }) => index === activeIndex)
  return (
    <section className={classes.frame} aria-label="Spans">
      <Group gap="xs" wrap="nowrap" className={classes.tools}>
        <TextInput
          size="xs"
          flex={1}
          aria-label="Find steps"
          placeholder="Find steps, or type error, unreviewed…"
          leftSection={<IconSearch size={14} aria-hidden />}
          value={typed}
          onChange={({ currentTarget }) => setTyped(currentTarget.value)}
          rightSection={
            typed !== '' && <CloseButton size="xs" aria-label="Clear search" onClick={() => setTyped('')} />
          }
        />
        <Text size="xs" c="dimmed" role="status" className={classes.count}>
          {found
            ? `${count(found.matches.size)} of ${count(tree.rows.length)}`
            : `${count(tree.rows.length)} ${tree.rows.length === 1 ? 'span' : 'spans'}`}
        </Text>
        <Tooltip label="Collapse all">
          <ActionIcon variant="subtle" color="gray" aria-label="Collapse all" onClick={foldAll} disabled={!!found}>
            <IconFoldUp size={16} aria-hidden />
          </ActionIcon>
        </Tooltip>
        <Tooltip label="Expand all">
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label="Expand all"
            onClick={() => setFolded(NOTHING)}
            disabled={!!found}
          >
            <IconFoldDown size={16} aria-hidden />
          </ActionIcon>
        </Tooltip>
      </Group>
      <div className={classes.ruler} aria-hidden>
        <span>Step</span>
        <div className={classes.ticks}>
          {TICKS.map(tick => (
            <span key={tick} style={tick === 1 ? { right: 0 } : { left: `${tick * 100}%` }}>
              {duration(tick * tree.length)}
            </span>
          ))}
        </div>
      </div>
      <div
        ref={container}
        role="tree"
        tabIndex={0}
        aria-label="Spans"
        aria-activedescendant={isActiveShown ? `${treeId}${activeId}` : undefined}
        className={classes.scroll}
        onKeyDown={event => {
          if (event.altKey || event.ctrlKey || event.metaKey) return
          if (event.key === 'Enter' || event.key === ' ') {
            if (activeId !== undefined) go(activeId)
          } else if (!onKey(event.key)) return
          event.preventDefault()
        }}
        onClick={({ target }) => {
          if (!(target instanceof Element)) return
          const line = target.closest<HTMLElement>('[data-index]')
          const row = line && rows[Number(line.dataset.index)]
          if (!row) return
          const { id } = row.span
          if (target.closest('[data-fold]')) fold(id, !isFolded(id))
          else go(id)
        }}
      >
        <div role="presentation" className={classes.lines} style={{ height: virtualizer.getTotalSize() }}>
          {items.map(({ index, key }) => {
            const row = rows[index]
            if (!row) return null
            const { id } = row.span
            return (
              <SpanLine
                key={key}
                id={`${treeId}${id}`}
                row={row}
                index={index}
                isFolded={isFolded(id)}
                isChosen={id === chosenId}
                isActive={id === activeId}
                isOnTheWay={found !== undefined && !found.matches.has(id)}
                hasFeedback={withFeedback.has(id)}
                length={tree.length}
              />
            )
          })}
        </div>
        {rows.length === 0 && (
          <Text size="sm" c="dimmed" p="md">
            No matching steps.
          </Text>
        )}
      </div>
      {more}
    </section>
  )
})

/** Whether a span matches: by step, ID, status, review state, or kind. */
const isFound = (span: Span, sought: string): boolean =>
  span.stepId.toLowerCase().includes(sought) ||
  span.id === sought ||
  span.status === sought ||
  span.review.state === sought ||
  kindOf(span)?.label.toLowerCase() === sought
