import type { Agreement } from '../api/wire.ts'
import { ChartFrame } from '../insights/chart-frame.tsx'
import { PANEL_HEIGHT } from '../insights/chart-size.ts'
import { type Bucket, bucketName } from '../insights/window.ts'
import { counted, share } from '../parts/format.ts'
import { FEW_OUTPUTS } from './estimate.tsx'

interface WeekChartProps {
  weeks: Agreement['weeks']
  buckets: readonly Bucket[]
}

/** A line that shows the share of pairs that agree, with an interval for each week. */
export function WeekChart({ weeks, buckets }: WeekChartProps) {
  const groups = buckets.map(({ from }) => weeks.find(({ week }) => week === from)?.decision)
  return (
    <ChartFrame
      label="Agreement by week. Switch to the table for the numbers."
      height={PANEL_HEIGHT}
      buckets={buckets}
      ticks={[0, 0.5, 1]}
      tickName={value => share(value, 1)}
      tip={index => {
        const [bucket, group] = [buckets[index], groups[index]]
        return (
          bucket &&
          group &&
          group.outputs > 0 && (
            <>
              <strong>{bucketName(bucket)}</strong>
              <div>
                {share(group.agreed, group.pairs)} of {counted(group.pairs, 'pair')}{' '}
                {group.pairs === 1 ? 'agrees' : 'agree'}
              </div>
              <div>{counted(group.outputs, 'output')}</div>
            </>
          )
        )
      }}
    >
      {({ x, y }) => {
        const dots = groups.flatMap((group, index) =>
          group && group.agreement.value !== null
            ? [{ ...group, x: x(index), y: y(group.agreement.value), interval: group.agreement.interval }]
            : [],
        )
        return (
          <g stroke="var(--series-1)" strokeWidth={2}>
            <polyline points={dots.map(dot => `${dot.x},${dot.y}`).join(' ')} fill="none" />
            {dots.map(dot => (
              <g key={dot.x}>
                {dot.interval && (
                  <line x1={dot.x} x2={dot.x} y1={y(dot.interval.low)} y2={y(dot.interval.high)} opacity={0.5} />
                )}
                <circle
                  cx={dot.x}
                  cy={dot.y}
                  r={4}
                  fill={dot.outputs < FEW_OUTPUTS ? 'var(--page)' : 'var(--series-1)'}
                />
              </g>
            ))}
          </g>
        )
      }}
    </ChartFrame>
  )
}
