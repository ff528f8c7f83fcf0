import type { AttributionQuality } from '../api/wire.ts'
import { ChartSection } from '../insights/section.tsx'
import { count, share } from '../parts/format.ts'
import { StackedTable } from '../parts/stacked-table.tsx'
import classes from './calibration.module.css'
import type { pathsTo } from './filters.ts'
import { agreementColumns } from './tables.tsx'

type Tenth = AttributionQuality['calibration'][number]

interface CalibrationProps {
  quality: AttributionQuality
  pathTo: ReturnType<typeof pathsTo>
}

/** Whether reviewers agree with the engine as often as its confidence suggests. */
export function Calibration({ quality, pathTo }: CalibrationProps) {
  const tenths = quality.calibration.map((tenth, index) => ({ ...tenth, index })).filter(tenth => tenth.count > 0)
  return (
    <ChartSection
      title="Calibration"
      description="How often reviewers agree with answers of similar confidence. On the dashed line, answers with 70% confidence are right 70% of the time. Bars show 95% intervals."
      chart={<Plot tenths={tenths} />}
      table={() => (
        <StackedTable
          label="Agreement by confidence"
          rows={tenths}
          keyOf={({ from }) => String(from)}
          columns={[
            { label: 'Confidence', cell: ({ from, to }) => `${share(from, 1)} to ${share(to, 1)}` },
            { label: 'Mean', isNarrow: true, cell: ({ meanConfidence }) => share(meanConfidence ?? 0, 1) },
            ...agreementColumns<(typeof tenths)[number]>(
              tenth => tenth.count,
              ({ index }, agrees) => pathTo({ tenth: String(index), ...(agrees && { agrees: 'true' }) }),
            ),
          ]}
        />
      )}
    />
  )
}

/** The plot's size and the space for its labels, in pixels. */
const SIZE = 300
const MARGIN = 44
const TICKS = [0, 0.5, 1]

const x = (value: number): number => MARGIN + value * SIZE
const y = (value: number): number => 8 + (1 - value) * SIZE

function Plot({ tenths }: { tenths: readonly Tenth[] }) {
  return (
    <svg
      role="img"
      aria-label="Agreement by confidence. Switch to the table for the numbers."
      viewBox={`0 0 ${MARGIN + SIZE + 16} ${SIZE + MARGIN + 8}`}
      className={classes.plot}
    >
      {TICKS.map(tick => (
        <g key={tick}>
          <line x1={x(0)} x2={x(1)} y1={y(tick)} y2={y(tick)} className={classes.grid} />
          <text x={x(0) - 8} y={y(tick)} dy="0.32em" textAnchor="end" className={classes.axis}>
            {share(tick, 1)}
          </text>
          <text x={x(tick)} y={y(0) + 20} textAnchor="middle" className={classes.axis}>
            {share(tick, 1)}
          </text>
        </g>
      ))}
      <text x={x(0.5)} y={y(0) + 38} textAnchor="middle" className={classes.axis}>
        Confidence
      </text>
      <text x={x(0) + 6} y={y(1) + 14} className={classes.axis}>
        Reviewers agree
      </text>
      <line x1={x(0)} y1={y(0)} x2={x(1)} y2={y(1)} className={classes.ideal} />
      {tenths.map(({ from, to, meanConfidence, agreement, agreed, count: answers, interval }) => (
        <g key={from}>
          <title>
            {share(from, 1)} to {share(to, 1)}: {count(agreed)} of {count(answers)} {agreed === 1 ? 'agrees' : 'agree'}
          </title>
          <line
            x1={x(meanConfidence ?? 0)}
            x2={x(meanConfidence ?? 0)}
            y1={y(interval.low)}
            y2={y(interval.high)}
            className={classes.reach}
          />
          <circle
            cx={x(meanConfidence ?? 0)}
            cy={y(agreement ?? 0)}
            r={Math.min(10, 3 + Math.sqrt(answers) / 2)}
            className={classes.dot}
          />
        </g>
      ))}
    </svg>
  )
}
