import { lazy, Suspense, useEffect, useRef } from 'react'
import { ScrollBox } from './scroll-box.tsx'
import classes from './virtual-lines.module.css'
import type { VirtualLinesProps } from './windowed-lines.tsx'

/** Up to here, all lines are in the page. Most values are shorter, and don't need the script that chooses lines. */
const MAX_LINES = 200

const WindowedLines = lazy(async () => ({ default: (await import('./windowed-lines.tsx')).WindowedLines }))

/** A scrolling list of lines of any height. Of a long list, only the visible lines are in the page. */
export const VirtualLines = (props: VirtualLinesProps) =>
  props.count <= MAX_LINES ? (
    <AllLines {...props} />
  ) : (
    <Suspense fallback={<AllLines {...props} count={MAX_LINES} />}>
      <WindowedLines {...props} />
    </Suspense>
  )

function AllLines(props: VirtualLinesProps) {
  const { count, keyOf, children, label, maxHeight, length, shown = -1, isMarking = false, className } = props
  const container = useRef<HTMLElement>(null)
  useEffect(() => {
    const box = container.current
    const line = box?.children[shown]
    if (!box || !(line instanceof HTMLElement)) return
    const { top, height } = line.getBoundingClientRect()
    box.scrollTop += top - box.getBoundingClientRect().top - (box.clientHeight - height) / 2
  }, [shown])
  return (
    <ScrollBox
      container={container}
      label={label}
      maxHeight={maxHeight}
      {...(length !== undefined && { length })}
      className={className ?? classes.code}
    >
      {Array.from({ length: count }, (_, index) => (
        <div key={keyOf(index)} className={classes.line} data-marked={(isMarking && index === shown) || undefined}>
          {children(index)}
        </div>
      ))}
    </ScrollBox>
  )
}
