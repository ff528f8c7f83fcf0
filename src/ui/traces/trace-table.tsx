import { Checkbox, Skeleton, UnstyledButton } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type CSSProperties, type ReactNode, useCallback, useEffect, useRef } from 'react'
import type { TraceItem } from '../api/wire.ts'
import { type CellContext, type ColumnId, columnOf, NARROW_COLUMNS } from './columns.tsx'
import { TraceRow } from './trace-row.tsx'
import classes from './trace-table.module.css'
import type { Selection } from './use-selection.ts'
import { useWideRows } from './use-wide-rows.ts'

const ROW_HEIGHT = 34
const TALL_ROW_HEIGHT = 100
const MATCH_HEIGHT = 22
const GAP = 10
const CHECKBOX_WIDTH = 16
const PADDING = 10
/** More traces load when fewer than this many rows are left below the visible ones. */
const AHEAD = 30
const SKELETONS = Array.from({ length: 20 }, (_, index) => index)

interface TraceTableProps {
  /** Identifies the list. A different list starts at the top. Undefined while loading. */
  list: string | undefined
  traces: readonly TraceItem[]
  /** The columns on wide screens. */
  columns: readonly ColumnId[]
  context: CellContext
  /** The `sort` of the column that the traces are sorted by. */
  sorted: string | null
  /** Undefined if the list can't be sorted. */
  onSort: ((sort: string | null) => void) | undefined
  /** The selection on wide screens. Undefined if there's no action for selected traces. */
  selection: Selection<TraceItem> | undefined
  /** Whether nothing is loaded yet. */
  isLoading: boolean
  /** Whether the rows belong to the previous filters. */
  isStale: boolean
  /** The initial scroll offset in pixels. */
  offset: number
  onScroll: (offset: number) => void
  /** Called when the pointer enters or leaves the rows. */
  onPointedAt: (isPointedAt: boolean) => void
  /** Called when the visible rows are near the end. */
  onEnd: () => void
  /** Shown above the rows. */
  above?: ReactNode
  /** Shown after the last row. */
  below?: ReactNode
}

/** The list of traces. Only the visible rows are in the page. Arrow keys, J, and K move between rows. */
export function TraceTable({
  list,
  traces,
  columns: chosen,
  context,
  sorted,
  onSort,
  selection: given,
  isLoading,
  isStale,
  offset,
  onScroll,
  onPointedAt,
  onEnd,
  above,
  below,
}: TraceTableProps) {
  const container = useRef<HTMLDivElement>(null)
  const isWide = useWideRows()
  const rowHeight = isWide ? ROW_HEIGHT : TALL_ROW_HEIGHT
  const columns = isWide ? chosen : NARROW_COLUMNS
  const heightOf = (trace: TraceItem | undefined) => rowHeight + (trace?.matches?.length ?? 0) * MATCH_HEIGHT
  const selection = isWide ? given : undefined
  const virtualizer = useVirtualizer({
    count: traces.length,
    getScrollElement: () => container.current,
    estimateSize: index => heightOf(traces[index]),
    getItemKey: index => traces[index]?.id ?? index,
    overscan: 12,
    initialOffset: offset,
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows with a different height must be measured again
  useEffect(() => virtualizer.measure(), [rowHeight])
  const shown = useRef(list)
  useEffect(() => {
    if (list === undefined || list === shown.current) return
    if (shown.current !== undefined) virtualizer.scrollToOffset(0)
    shown.current = list
  }, [list, virtualizer])
  const items = virtualizer.getVirtualItems()
  const isNearEnd = (items.at(-1)?.index ?? 0) >= traces.length - AHEAD
  useEffect(() => {
    if (isNearEnd) onEnd()
  }, [isNearEnd, onEnd])

  const move = useCallback(
    (step: 1 | -1) => {
      const row = document.activeElement?.closest<HTMLElement>('[data-index]')
      const first = virtualizer.range?.startIndex ?? 0
      const from = row && container.current?.contains(row) ? Number(row.dataset.index) : first - step
      const to = Math.min(Math.max(from + step, 0), traces.length - 1)
      virtualizer.scrollToIndex(to, { align: 'auto' })
      requestAnimationFrame(() =>
        container.current?.querySelector<HTMLElement>(`[data-index="${to}"] a`)?.focus({ preventScroll: true }),
      )
    },
    [virtualizer, traces.length],
  )
  useHotkeys([
    ['J', () => move(1)],
    ['K', () => move(-1)],
  ])

  return (
    <div className={classes.frame}>
      {above}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the keys move between the links in it */}
      <div
        ref={container}
        data-stale={isStale || undefined}
        className={classes.scroll}
        onScroll={({ currentTarget }) => onScroll(currentTarget.scrollTop)}
        onMouseEnter={() => onPointedAt(true)}
        onMouseLeave={() => onPointedAt(false)}
        onKeyDown={event => {
          if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
          event.preventDefault()
          move(event.key === 'ArrowDown' ? 1 : -1)
        }}
      >
        <table
          aria-label="Traces"
          aria-rowcount={traces.length + 1}
          aria-busy={isLoading || isStale}
          className={classes.table}
          style={isWide ? gridOf(columns, selection !== undefined) : undefined}
        >
          <thead className={classes.head}>
            <tr aria-rowindex={1} className={classes.headRow}>
              {selection && (
                <th scope="col">
                  <Checkbox
                    size="xs"
                    aria-label="Select all loaded traces"
                    checked={traces.length > 0 && selection.ids.size === traces.length}
                    indeterminate={selection.ids.size > 0 && selection.ids.size < traces.length}
                    onChange={selection.toggleAll}
                  />
                </th>
              )}
              {columns.map(id => {
                const { label, isNumber, sort } = columnOf(id)
                return (
                  <th
                    key={id}
                    scope="col"
                    className={isNumber ? classes.number : undefined}
                    aria-sort={sort !== undefined && sort === sorted ? 'descending' : undefined}
                  >
                    {sort === undefined || !onSort ? (
                      label
                    ) : (
                      <UnstyledButton className={classes.sort} onClick={() => onSort(sort === sorted ? null : sort)}>
                        {label}
                        {sort === sorted && ' ↓'}
                      </UnstyledButton>
                    )}
                  </th>
                )
              })}
            </tr>
          </thead>
          <tbody className={classes.rows} style={{ height: virtualizer.getTotalSize() }}>
            {items.map(({ index, key, start, size }) => {
              const trace = traces[index]
              if (!trace) return null
              return (
                <TraceRow
                  key={key}
                  trace={trace}
                  index={index}
                  start={start}
                  height={size}
                  columns={columns}
                  context={context}
                  isSelected={selection?.ids.has(trace.id)}
                  onSelect={selection?.toggle}
                />
              )
            })}
          </tbody>
        </table>
        {isLoading && (
          <div className={classes.loading} aria-hidden>
            {SKELETONS.map(index => (
              <Skeleton key={index} height={rowHeight - 14} my={7} />
            ))}
          </div>
        )}
        {below}
      </div>
    </div>
  )
}

/** The columns' widths. If they don't fit, the table scrolls sideways. */
function gridOf(columns: readonly ColumnId[], hasSelection: boolean): CSSProperties {
  const shown = [...(hasSelection ? [{ width: CHECKBOX_WIDTH, grow: undefined }] : []), ...columns.map(columnOf)]
  const tracks = shown.map(({ width, grow }) => (grow === undefined ? `${width}px` : `minmax(${width}px, ${grow}fr)`))
  const least = shown.reduce((sum, { width }) => sum + width + GAP, 2 * PADDING - GAP)
  return {
    '--columns': tracks.join(' '),
    '--gap': `${GAP}px`,
    '--padding': `${PADDING}px`,
    minWidth: least,
  } as CSSProperties
}
