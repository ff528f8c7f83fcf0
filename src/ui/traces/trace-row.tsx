import { Checkbox } from '@mantine/core'
import { type MouseEvent, memo } from 'react'
import { pathWith } from '../api/client.ts'
import type { TraceItem } from '../api/wire.ts'
import { Matches } from '../filters/matches.tsx'
import { type CellContext, type ColumnId, columnOf } from './columns.tsx'
import classes from './trace-table.module.css'

interface TraceRowProps {
  trace: TraceItem
  columns: readonly ColumnId[]
  context: CellContext
  /** The trace's index in the list. */
  index: number
  /** Pixels from the list's top. */
  start: number
  /** Pixels. */
  height: number
  /** Undefined if traces can't be selected. */
  isSelected: boolean | undefined
  onSelect: ((id: string, isRange: boolean) => void) | undefined
}

/** A trace in the list. The whole row links to it. */
export const TraceRow = memo(function TraceRow(props: TraceRowProps) {
  const { trace, columns, context, index, start, height, isSelected, onSelect } = props
  return (
    <tr
      onClick={followLink}
      aria-rowindex={index + 2}
      data-index={index}
      className={classes.row}
      data-matched={trace.matches !== undefined || undefined}
      style={{ height, transform: `translateY(${start}px)` }}
    >
      {onSelect && (
        <td>
          <Checkbox
            size="xs"
            className={classes.select}
            aria-label={`Select ${trace.traceId}`}
            checked={isSelected === true}
            onChange={({ nativeEvent }) =>
              onSelect(trace.id, nativeEvent instanceof window.MouseEvent && nativeEvent.shiftKey)
            }
          />
        </td>
      )}
      {columns.map(id => {
        const { isNumber, isSmall, cell } = columnOf(id)
        return (
          <td key={id} data-column={id} className={classesOf(isNumber, isSmall)}>
            {cell(trace, context)}
          </td>
        )
      })}
      {context.contains !== null && trace.matches && (
        <td data-column="matches">
          <Matches
            matches={trace.matches}
            sought={context.contains}
            pathOf={span => pathWith(`/traces/${trace.id}`, { project: context.project, span })}
          />
        </td>
      )}
    </tr>
  )
})

/** Follows the row's link when the reader clicks text that has a tooltip and therefore covers the link. */
function followLink({ target, currentTarget, nativeEvent }: MouseEvent<HTMLElement>): void {
  if (target instanceof Element && target.closest('a, button, input') === null) {
    currentTarget.querySelector('a')?.dispatchEvent(new window.MouseEvent('click', nativeEvent))
  }
}

const classesOf = (isNumber = false, isSmall = false) =>
  [isNumber && classes.number, isSmall && classes.small].filter(Boolean).join(' ') || undefined
