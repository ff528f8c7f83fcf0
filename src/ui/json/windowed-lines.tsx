import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useRef } from 'react'
import { ScrollBox, type ScrollBoxProps } from './scroll-box.tsx'
import classes from './virtual-lines.module.css'

export interface VirtualLinesProps extends Pick<ScrollBoxProps, 'label' | 'maxHeight' | 'length' | 'className'> {
  count: number
  keyOf: (index: number) => string | number
  children: (index: number) => ReactNode
  /** The line to scroll to; -1 for none. */
  shown?: number
  /** Whether the line in `shown` is marked. */
  isMarking?: boolean
}

const LINE_HEIGHT = 22

/** A list of lines that renders only the visible ones. */
export function WindowedLines({ count, keyOf, children, shown = -1, isMarking = false, ...box }: VirtualLinesProps) {
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
    <ScrollBox container={container} {...box}>
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
