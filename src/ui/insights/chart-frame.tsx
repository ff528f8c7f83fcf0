import { useElementSize } from '@mantine/hooks'
import { type PointerEvent, type ReactNode, useState } from 'react'
import classes from './insights.module.css'
import { type Bucket, dayName } from './window.ts'

/** The space around the plot in pixels, for the axis labels and marks on the edge. */
const MARGIN = { top: 8, right: 12, bottom: 30, left: 44 }
/** The approximate width of a character in axis labels, and the minimum gap between labels, in pixels. */
const CHARACTER_WIDTH = 6.6
const TEXT_GAP = 24

/** Maps buckets and values to pixels. */
export interface Scale {
  /** The center of a bucket. */
  x: (index: number) => number
  y: (value: number) => number
  bucketWidth: number
}

interface ChartFrameProps {
  label: string
  height: number
  buckets: readonly Bucket[]
  /** From 0 to the top of the y axis. */
  ticks: readonly number[]
  tickName: (value: number) => string
  /** The space for the labels of the y axis, in pixels. */
  left?: number
  /** Whether the first and last buckets are on the edges (lines), or all buckets are inside (bars). */
  isOnEdges?: boolean
  /** The tooltip for a bucket. */
  tip: (index: number) => ReactNode
  /** The tooltip's distance from the top. By default, it's the pointer's distance. */
  tipTop?: number
  children: (scale: Scale) => ReactNode
}

/** The axes of a chart over time, with a tooltip at the pointer. */
export function ChartFrame(props: ChartFrameProps) {
  const {
    label,
    height,
    buckets,
    ticks,
    tickName,
    isOnEdges = false,
    tip,
    tipTop,
    left = MARGIN.left,
    children,
  } = props
  const { ref, width } = useElementSize<HTMLDivElement>()
  const [pointer, setPointer] = useState<{ index: number; y: number }>()
  const inner = Math.max(0, width - left - MARGIN.right)
  const bottom = height - MARGIN.bottom
  const highest = ticks.at(-1) ?? 1
  const bucketWidth = inner / Math.max(1, isOnEdges ? buckets.length - 1 : buckets.length)
  const scale: Scale = {
    x: index => left + bucketWidth * (isOnEdges ? index : index + 0.5),
    y: value => bottom - (value / highest) * (bottom - MARGIN.top),
    bucketWidth,
  }

  const follow = ({ clientX, clientY, currentTarget }: PointerEvent<SVGSVGElement>) => {
    const box = currentTarget.getBoundingClientRect()
    const place = (clientX - box.left - left) / bucketWidth
    const index = isOnEdges ? Math.round(place) : Math.floor(place)
    setPointer(buckets[index] ? { index, y: clientY - box.top } : undefined)
  }

  const content = pointer && tip(pointer.index)
  const at = pointer ? scale.x(pointer.index) : 0
  return (
    <div ref={ref} role="img" aria-label={label} className={classes.chart} style={{ height }}>
      {width > 0 && (
        <svg
          aria-hidden="true"
          width={width}
          height={height}
          onPointerMove={follow}
          onPointerLeave={() => setPointer(undefined)}
        >
          {ticks.map(tick => (
            <g key={tick}>
              <line
                x1={left}
                x2={width - MARGIN.right}
                y1={scale.y(tick)}
                y2={scale.y(tick)}
                stroke="var(--line)"
                strokeDasharray="5 5"
              />
              <text x={left - 8} y={scale.y(tick)} dy="0.32em" textAnchor="end" className={classes.axis}>
                {tickName(tick)}
              </text>
            </g>
          ))}
          {namedBuckets(buckets, scale, width).map(({ index, name }) => (
            <text key={index} x={scale.x(index)} y={bottom + 20} textAnchor="middle" className={classes.axis}>
              {name}
            </text>
          ))}
          {content && <line x1={at} x2={at} y1={MARGIN.top} y2={bottom} stroke="var(--quiet)" />}
          {children(scale)}
        </svg>
      )}
      {pointer && content && (
        <div
          className={classes.tip}
          style={{ top: tipTop ?? pointer.y, ...(at < width / 2 ? { left: at + 12 } : { right: width - at + 12 }) }}
        >
          {content}
        </div>
      )}
    </div>
  )
}

/** The buckets with a label: the first, and every nth after it, so that labels don't overlap. */
function namedBuckets(buckets: readonly Bucket[], { x, bucketWidth }: Scale, width: number) {
  const named = buckets.map(({ from }, index) => ({ index, name: dayName(from) }))
  const widest = Math.max(0, ...named.map(({ name }) => name.length)) * CHARACTER_WIDTH
  const step = Math.max(1, Math.ceil((widest + TEXT_GAP) / Math.max(1, bucketWidth)))
  return named.filter(({ index }) => index % step === 0 && x(index) + widest / 2 <= width)
}
