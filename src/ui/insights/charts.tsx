import { ShownText } from '../json/shown-text.tsx'
import { count, counted, dollars, roundDollars, share, shortCount } from '../parts/format.ts'
import type { AcceptanceLine } from './acceptance-series.ts'
import { BarPattern } from './bar-pattern.tsx'
import { ChartFrame, type Scale } from './chart-frame.tsx'
import { PANEL_HEIGHT, THROUGHPUT_HEIGHT } from './chart-size.ts'
import { lineStyle } from './line-style.ts'
import { type Decided, decidedOf, FEW_DECISIONS } from './ranking.ts'
import type { Reviewer } from './throughput.ts'
import type { BucketUse } from './use-by-bucket.ts'
import { type Bucket, bucketName } from './window.ts'

/** In pixels. */
const MAX_BAR_WIDTH = 36

export interface AcceptancePanelProps {
  label: string
  lines: readonly AcceptanceLine[]
  buckets: readonly Bucket[]
}

/** A step's acceptance over time, with a line per prompt version. A dot's size shows its number of decisions. */
export const AcceptancePanel = ({ label, lines, buckets }: AcceptancePanelProps) => (
  <ChartFrame
    label={label}
    height={PANEL_HEIGHT}
    buckets={buckets}
    ticks={[0, 0.5, 1]}
    tickName={value => share(value, 1)}
    isOnEdges
    // The tooltip is at the bottom, so that it doesn't cover the lines.
    tipTop={PANEL_HEIGHT - 24}
    tip={index => {
      const bucket = buckets[index]
      return (
        bucket && (
          <>
            <strong>{bucketName(bucket)}</strong>
            {lines.map(({ key, label, points }) => {
              const point = points[index]
              return (
                point && (
                  <div key={key}>
                    <ShownText text={label} />: {share(point.accepted, decidedOf(point))}, {count(point.accepted)} of{' '}
                    {count(decidedOf(point))} accepted
                  </div>
                )
              )
            })}
          </>
        )
      )
    }}
  >
    {scale =>
      // The newest version is drawn last, above the others.
      lines.map((line, index) => <Line key={line.key} line={line} index={index} scale={scale} />).toReversed()
    }
  </ChartFrame>
)

interface LineProps {
  line: AcceptanceLine
  index: number
  scale: Scale
}

const isThin = (decided: Decided): boolean => decidedOf(decided) < FEW_DECISIONS

/**
 * A line that skips buckets without decisions. A segment is faint if one of its ends has few decisions, because the
 * share at that end may be due to chance.
 */
function Line({ line: { points }, index, scale: { x, y } }: LineProps) {
  const { color, dashes } = lineStyle(index)
  const dots = points.flatMap((decided, place) =>
    decided ? [{ decided, x: x(place), y: y(decided.accepted / decidedOf(decided)) }] : [],
  )
  return (
    <g>
      {dots.slice(1).map((dot, place) => {
        const from = dots[place] ?? dot
        return (
          <line
            key={dot.x}
            x1={from.x}
            y1={from.y}
            x2={dot.x}
            y2={dot.y}
            stroke={color}
            strokeWidth={2}
            strokeDasharray={dashes}
            opacity={isThin(from.decided) || isThin(dot.decided) ? 0.3 : 1}
          />
        )
      })}
      {dots.map(dot => (
        <CountedDot key={dot.x} {...dot} color={color} />
      ))}
    </g>
  )
}

interface CountedDotProps {
  x: number
  y: number
  decided: Decided
  color: string
}

/** A dot whose size shows its number of decisions. If there are few, it's hollow. */
function CountedDot({ x, y, decided, color }: CountedDotProps) {
  const total = decidedOf(decided)
  return (
    <circle
      cx={x}
      cy={y}
      r={Math.min(6, 1.5 + Math.sqrt(total) / 3)}
      fill={isThin(decided) ? 'var(--page)' : color}
      stroke={color}
      strokeWidth={1.5}
    />
  )
}

export interface ThroughputChartProps {
  label: string
  reviewers: readonly Reviewer[]
  buckets: readonly Bucket[]
}

/** Each reviewer's number of reviews, by day or week. */
export function ThroughputChart({ label, reviewers, buckets }: ThroughputChartProps) {
  const totals = buckets.map((_, index) => reviewers.reduce((sum, { reviewed }) => sum + (reviewed[index] ?? 0), 0))
  return (
    <ChartFrame
      label={label}
      height={THROUGHPUT_HEIGHT}
      buckets={buckets}
      ticks={wholeTicks(Math.max(0, ...totals))}
      tickName={count}
      tip={index => {
        const bucket = buckets[index]
        return (
          bucket && (
            <>
              <strong>{bucketName(bucket)}</strong>
              {reviewers
                .filter(({ reviewed }) => (reviewed[index] ?? 0) > 0)
                .map(({ key, name, reviewed }) => (
                  <div key={key}>
                    <ShownText text={name} />: {count(reviewed[index] ?? 0)}
                  </div>
                ))}
            </>
          )
        )
      }}
    >
      {scale => (
        <>
          <defs>
            {reviewers.map(({ key, style }) => (
              <BarPattern key={key} id={`bar-${style}`} index={style} />
            ))}
          </defs>
          {buckets.map(({ from }, index) => (
            <Bar key={from} reviewers={reviewers} index={index} scale={scale} />
          ))}
        </>
      )}
    </ChartFrame>
  )
}

/** A bucket's reviews, stacked by reviewer. */
function Bar({ reviewers, index, scale: { x, y, bucketWidth } }: Pick<ThroughputChartProps, 'reviewers'> & BarPlace) {
  const width = Math.min(MAX_BAR_WIDTH, bucketWidth * 0.8)
  let below = 0
  return reviewers.map(({ key, style, reviewed }) => {
    const value = reviewed[index] ?? 0
    const from = below
    below += value
    if (value === 0) return null
    return (
      <rect
        key={key}
        x={x(index) - width / 2}
        y={y(below)}
        width={width}
        height={y(from) - y(below)}
        fill={`url(#bar-${style})`}
        stroke="var(--page)"
      />
    )
  })
}

export interface UsageChartProps {
  label: string
  uses: readonly BucketUse[]
  /** What the bars show. */
  field: keyof BucketUse
  buckets: readonly Bucket[]
}

/** The tokens or the cost of a project's model calls, by day or week. */
export function UsageChart({ label, uses, field, buckets }: UsageChartProps) {
  const highest = Math.max(0, ...uses.map(use => use[field]))
  return (
    <ChartFrame
      label={label}
      height={THROUGHPUT_HEIGHT}
      buckets={buckets}
      ticks={field === 'tokens' ? wholeTicks(highest) : ticksUpTo(highest)}
      tickName={field === 'tokens' ? shortCount : roundDollars}
      left={72}
      tip={index => {
        const [bucket, use] = [buckets[index], uses[index]]
        return (
          bucket &&
          use && (
            <>
              <strong>{bucketName(bucket)}</strong>
              {field === 'costUsd' && <div>{dollars(use.costUsd)}</div>}
              <div>{counted(use.tokens, 'token')}</div>
            </>
          )
        )
      }}
    >
      {({ x, y, bucketWidth }) =>
        uses.map((use, index) => {
          const width = Math.min(MAX_BAR_WIDTH, bucketWidth * 0.8)
          return (
            use[field] > 0 && (
              <rect
                key={buckets[index]?.from}
                x={x(index) - width / 2}
                y={y(use[field])}
                width={width}
                height={y(0) - y(use[field])}
                fill="var(--series-1)"
              />
            )
          )
        })
      }
    </ChartFrame>
  )
}

interface BarPlace {
  index: number
  scale: Scale
}

/** Like `ticksUpTo`, but only with whole numbers. */
const wholeTicks = (highest: number): number[] => ticksUpTo(highest, 1)

/** About four steps of 1, 2, or 5 times a power of ten, up to the highest value or just above it. */
function ticksUpTo(highest: number, smallest = 1e-9): number[] {
  const least = Math.max(smallest, highest / 4)
  const power = 10 ** Math.floor(Math.log10(least))
  const step = ([1, 2, 5].find(factor => factor * power >= least) ?? 10) * power
  return Array.from({ length: Math.max(1, Math.ceil(highest / step)) + 1 }, (_, index) => index * step)
}
