import '@mantine/charts/styles.css'
import { BarChart, LineChart } from '@mantine/charts'
import { ShownText } from '../json/shown-text.tsx'
import { count, share } from '../parts/format.ts'
import type { AcceptanceLine } from './acceptance-series.ts'
import { BarPattern } from './bar-pattern.tsx'
import { PANEL_HEIGHT, THROUGHPUT_HEIGHT } from './chart-size.ts'
import classes from './insights.module.css'
import { barColor, lineStyle } from './line-style.ts'
import { type Decided, decidedOf, FEW_DECISIONS } from './ranking.ts'
import type { Reviewer } from './throughput.ts'
import { type Bucket, bucketName, dayName } from './window.ts'

/*
 * The charts themselves: this module and what draws them are loaded when a page shows one.
 */

export interface AcceptancePanelProps {
  label: string
  lines: readonly AcceptanceLine[]
  buckets: readonly Bucket[]
}

/** A step's acceptance over time, a line for each prompt version; a dot's size is the number of decisions behind it. */
export function AcceptancePanel({ label, lines, buckets }: AcceptancePanelProps) {
  const data = buckets.map(({ from }, index) => ({
    from,
    index,
    ...Object.fromEntries(lines.map(({ key, points }) => [key, acceptedShare(points[index])])),
  }))
  const lineOf = new Map(lines.map(line => [line.key, line]))
  return (
    <div role="img" aria-label={label}>
      <LineChart
        h={PANEL_HEIGHT}
        data={data}
        dataKey="from"
        accessibilityLayer={false}
        curveType="linear"
        // The newest version is drawn last, above the others.
        series={lines
          .map(({ key, label }, index) => {
            const { color, dashes } = lineStyle(index)
            return { name: key, label, color, strokeDasharray: dashes }
          })
          .toReversed()}
        lineProps={({ name, color }) => ({
          dot: ({ cx, cy, index, key }) => {
            const point = index === undefined ? null : lineOf.get(name)?.points[index]
            if (!point || cx === undefined || cy === undefined) return <g key={key} />
            return <CountedDot key={key} x={Number(cx)} y={Number(cy)} decided={point} color={color ?? ''} />
          },
        })}
        yAxisProps={{ domain: [0, 1], ticks: [0, 0.5, 1], width: 44 }}
        xAxisProps={{
          tickFormatter: (from: string) => dayName(from),
          interval: 'equidistantPreserveStart',
          minTickGap: 24,
        }}
        valueFormatter={value => share(value, 1)}
        lineChartProps={{ margin: { top: 8, right: 12, bottom: 0, left: 0 } }}
        tooltipProps={{
          // Below, where it hides no line.
          position: { y: PANEL_HEIGHT - 24 },
          allowEscapeViewBox: { y: true },
          wrapperStyle: { zIndex: 3 },
          content: ({ active, payload }) => {
            const index = indexIn(payload)
            const bucket = buckets[index]
            if (!active || !bucket) return null
            return (
              <div className={classes.tip}>
                <strong>{bucketName(bucket)}</strong>
                {lines.map(({ key, label, points }) => {
                  const point = points[index]
                  return (
                    point && (
                      <div key={key}>
                        <ShownText text={label} />: {share(point.accepted, decidedOf(point))}, {count(point.accepted)}{' '}
                        of {count(decidedOf(point))} accepted
                      </div>
                    )
                  )
                })}
              </div>
            )
          },
        }}
      />
    </div>
  )
}

const acceptedShare = (decided: Decided | null | undefined): number | null =>
  decided ? decided.accepted / decidedOf(decided) : null

interface CountedDotProps {
  x: number
  y: number
  decided: Decided
  color: string
}

/** A point that says by its size how much is behind it; with few decisions it is hollow. */
function CountedDot({ x, y, decided, color }: CountedDotProps) {
  const total = decidedOf(decided)
  const isThin = total < FEW_DECISIONS
  return (
    <circle
      cx={x}
      cy={y}
      r={Math.min(6, 1.5 + Math.sqrt(total) / 3)}
      fill={isThin ? 'var(--page)' : color}
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

/** What reviewers reviewed, by day or week. */
export function ThroughputChart({ label, reviewers, buckets }: ThroughputChartProps) {
  const data = buckets.map(({ from }, index) => ({
    from,
    index,
    ...Object.fromEntries(reviewers.map(({ key, reviewed }) => [key, reviewed[index] ?? 0])),
  }))
  const placeOf = new Map(reviewers.map(({ key }, index) => [key, index]))
  return (
    <div role="img" aria-label={label}>
      <BarChart
        h={THROUGHPUT_HEIGHT}
        data={data}
        dataKey="from"
        type="stacked"
        accessibilityLayer={false}
        maxBarWidth={36}
        series={reviewers.map(({ key, name }, index) => ({ name: key, label: name, color: barColor(index) }))}
        barProps={({ name }) => ({
          fill: `url(#bar-${placeOf.get(name) ?? 0})`,
          stroke: 'var(--page)',
          strokeWidth: 1,
        })}
        yAxisProps={{ allowDecimals: false, width: 44 }}
        xAxisProps={{
          tickFormatter: (from: string) => dayName(from),
          interval: 'equidistantPreserveStart',
          minTickGap: 24,
        }}
        valueFormatter={count}
        barChartProps={{ margin: { top: 8, right: 12, bottom: 0, left: 0 } }}
        tooltipProps={{
          content: ({ active, payload }) => {
            const index = indexIn(payload)
            const bucket = buckets[index]
            if (!active || !bucket) return null
            return (
              <div className={classes.tip}>
                <strong>{bucketName(bucket)}</strong>
                {reviewers
                  .filter(({ reviewed }) => (reviewed[index] ?? 0) > 0)
                  .map(({ key, name, reviewed }) => (
                    <div key={key}>
                      <ShownText text={name} />: {count(reviewed[index] ?? 0)}
                    </div>
                  ))}
              </div>
            )
          },
        }}
      >
        <defs>
          {reviewers.map(({ key }, index) => (
            <BarPattern key={key} id={`bar-${index}`} index={index} />
          ))}
        </defs>
      </BarChart>
    </div>
  )
}

/** The place of the bucket that a tooltip is about; -1: none. */
function indexIn(payload: unknown): number {
  const [first]: unknown[] = Array.isArray(payload) ? payload : []
  const row = first instanceof Object && 'payload' in first ? first.payload : undefined
  return row instanceof Object && 'index' in row && typeof row.index === 'number' ? row.index : -1
}
