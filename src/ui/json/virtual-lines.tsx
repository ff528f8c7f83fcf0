import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useRef } from 'react'
import classes from './virtual-lines.module.css'

interface VirtualLinesProps {
  count: number
  keyOf: (index: number) => string | number
  children: (index: number) => ReactNode
  label: string
  /** A CSS length. */
  maxHeight: string
  /** The line to scroll to and mark; -1 for none. */
  marked?: number
}

const LINE_HEIGHT = 22

/** A scrolling list of lines of any height. Only the visible ones are in the page. */
export function VirtualLines({ count, keyOf, children, label, maxHeight, marked = -1 }: VirtualLinesProps) {
  const container = useRef<HTMLElement>(null)
  const virtualizer = useVirtualizer({
    count,
    getScrollElement: () => container.current,
    estimateSize: () => LINE_HEIGHT,
    getItemKey: keyOf,
    overscan: 20,
  })
  useEffect(() => {
    if (marked >= 0) virtualizer.scrollToIndex(marked, { align: 'center' })
  }, [marked, virtualizer])
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
    <section ref={container} className={classes.scroll} style={{ maxHeight }} tabIndex={0} aria-label={label}>
      <div style={{ height: virtualizer.getTotalSize(), position: 'relative' }}>
        {virtualizer.getVirtualItems().map(({ index, key, start }) => (
          <div
            key={key}
            ref={virtualizer.measureElement}
            data-index={index}
            className={classes.line}
            data-marked={index === marked || undefined}
            style={{ transform: `translateY(${start}px)` }}
          >
            {children(index)}
          </div>
        ))}
      </div>
    </section>
  )
}
