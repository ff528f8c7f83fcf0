import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useRef } from 'react'
import { ScrollBox } from './scroll-box.tsx'
import classes from './virtual-lines.module.css'

export interface VirtualLinesProps {
  count: number
  keyOf: (index: number) => string | number
  children: (index: number) => ReactNode
  label: string
  /** A CSS length. */
  maxHeight: string
  /** How many characters the whole value has. */
  length?: number
  /** The line to scroll to; -1 for none. */
  shown?: number
  /** Whether the shown line is marked. */
  isMarking?: boolean
  className?: string | undefined
}

const LINE_HEIGHT = 22

/** A list of lines of which only the visible ones are in the page. */
export function WindowedLines(props: VirtualLinesProps) {
  const { count, keyOf, children, label, maxHeight, length, shown = -1, isMarking = false, className } = props
  const container = useRef<HTMLElement>(null)
  const virtualizer = useVirtualizer({
    count,
    getScrollElement: () => container.current,
    estimateSize: () => LINE_HEIGHT,
    getItemKey: keyOf,
    overscan: 20,
  })
  useEffect(() => {
    if (shown >= 0) virtualizer.scrollToIndex(shown, { align: 'center' })
  }, [shown, virtualizer])
  return (
    <ScrollBox
      container={container}
      label={label}
      maxHeight={maxHeight}
      {...(length !== undefined && { length })}
      className={className ?? classes.code}
    >
      <div style={{ height: virtualizer.getTotalSize(), position: 'relative' }}>
        {virtualizer.getVirtualItems().map(({ index, key, start }) => (
          <div
            key={key}
            ref={virtualizer.measureElement}
            data-index={index}
            className={`${classes.line} ${classes.placed}`}
            data-marked={(isMarking && index === shown) || undefined}
            style={{ transform: `translateY(${start}px)` }}
          >
            {children(index)}
          </div>
        ))}
      </div>
    </ScrollBox>
  )
}
