import { Button } from '@mantine/core'
import { type ReactNode, type RefObject, useEffect, useRef, useState } from 'react'
import { counted } from '../parts/format.ts'
import classes from './scroll-box.module.css'

export interface ScrollBoxProps {
  /** The accessible name. */
  label: string
  /** A CSS length. */
  maxHeight: string
  /** How many characters the whole value has, for the hint that part of it is hidden. */
  length?: number | undefined
  container?: RefObject<HTMLElement | null>
  className?: string | undefined
  isMarked?: boolean
  children: ReactNode
}

/** The maximum height of an expanded box, in pixels. Browsers take seconds to lay out a megabyte. */
const MAX_EXPANDED_HEIGHT = 8_000

/** A box that scrolls. If part of its content is hidden, it says so and offers to show all. */
export function ScrollBox({ label, maxHeight, length, container, className, isMarked, children }: ScrollBoxProps) {
  const own = useRef<HTMLElement>(null)
  const box = container ?? own
  const [hidden, setHidden] = useState<'none' | 'some' | 'much'>('none')
  const [isExpanded, setExpanded] = useState(false)
  useEffect(() => {
    const element = box.current
    if (!element) return
    const measure = () => {
      const { scrollHeight, clientHeight } = element
      const isHidden = scrollHeight > clientHeight + 1
      setHidden(isHidden ? (scrollHeight > MAX_EXPANDED_HEIGHT ? 'much' : 'some') : 'none')
    }
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    for (const child of element.children) observer.observe(child)
    return () => observer.disconnect()
  }, [box])
  return (
    <>
      <section
        ref={box}
        className={`${classes.box} ${className ?? ''}`}
        style={{ maxHeight: isExpanded ? MAX_EXPANDED_HEIGHT : maxHeight }}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
        tabIndex={0}
        aria-label={label}
        data-marked={isMarked || undefined}
      >
        {children}
      </section>
      {(hidden !== 'none' || isExpanded) && (
        <div className={classes.more}>
          <Button size="compact-xs" variant="subtle" onClick={() => setExpanded(!isExpanded)}>
            {isExpanded ? 'Show less' : hidden === 'some' ? 'Show all' : 'Show more'}
          </Button>
          {length !== undefined && <span>{counted(length, 'character')}</span>}
        </div>
      )}
    </>
  )
}
