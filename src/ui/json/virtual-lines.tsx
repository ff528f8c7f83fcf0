import { lazy, Suspense, useEffect, useRef } from 'react'
import { ScrollBox } from './scroll-box.tsx'
import classes from './virtual-lines.module.css'
import type { VirtualLinesProps } from './windowed-lines.tsx'

/** Lists up to this long are rendered in full. Most values are shorter and don't need the script for windowing. */
const MAX_LINES = 200

const WindowedLines = lazy(async () => ({ default: (await import('./windowed-lines.tsx')).WindowedLines }))

/** A scrolling list of lines of any height. If it's long, only the visible lines are rendered. */
export function VirtualLines({ className = classes.code, ...given }: VirtualLinesProps) {
  const props = { ...given, className }
  return props.count <= MAX_LINES ? (
    <AllLines {...props} />
  ) : (
    <Suspense fallback={<AllLines {...props} count={MAX_LINES} />}>
      <WindowedLines {...props} />
    </Suspense>
  )
}

function AllLines({ count, keyOf, children, shown = -1, isMarking = false, ...box }: VirtualLinesProps) {
  const container = useRef<HTMLElement>(null)
  useEffect(() => {
    const element = container.current
    const line = element?.children[shown]
    if (!element || !(line instanceof HTMLElement)) return
    const { top, height } = line.getBoundingClientRect()
    element.scrollTop += top - element.getBoundingClientRect().top - (element.clientHeight - height) / 2
  }, [shown])
  return (
    <ScrollBox container={container} {...box}>
      {Array.from({ length: count }, (_, index) => (
        <div key={keyOf(index)} className={classes.line} data-marked={(isMarking && index === shown) || undefined}>
          {children(index)}
        </div>
      ))}
    </ScrollBox>
  )
}
