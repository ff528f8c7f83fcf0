import { Skeleton } from '@mantine/core'
import { lazy, Suspense } from 'react'
import type { Agreement } from '../api/wire.ts'
import { PANEL_HEIGHT } from '../insights/chart-size.ts'
import { ChartSection } from '../insights/section.tsx'
import { type Bucket, bucketEnd, bucketName } from '../insights/window.ts'
import { Counted } from '../parts/counted.tsx'
import { count, counted, share } from '../parts/format.ts'
import { StackedTable } from '../parts/stacked-table.tsx'
import { beyondChance, FEW_OUTPUTS, whyNot } from './estimate.tsx'
import type { PathTo } from './filters.ts'

const WeekChart = lazy(async () => ({ default: (await import('./week-chart.tsx')).WeekChart }))

type Week = Agreement['weeks'][number]

interface WeeksProps {
  agreement: Agreement
  /** The period. It may begin or end in the middle of a week. */
  from: string
  to: string
  pathTo: PathTo
}

const WEEK_DAYS = 7

/** How often reviewers agree, week by week. */
export function Weeks({ agreement: { weeks }, from, to, pathTo }: WeeksProps) {
  const shown = weeks.filter(({ decision }) => decision.outputs > 0)
  if (shown.length === 0) return null
  const nameOf = ({ week }: Week) => bucketName({ from: week, days: WEEK_DAYS })
  return (
    <ChartSection
      title="By week"
      description={`The share of vote pairs that agree on the decision, by the week of the output's first vote. Bars are 95% intervals. Hollow dots mean fewer than ${FEW_OUTPUTS} outputs.`}
      chart={
        <Suspense fallback={<Skeleton h={PANEL_HEIGHT} />}>
          <WeekChart weeks={weeks} buckets={bucketsFrom(weeks)} />
        </Suspense>
      }
      table={() => (
        <StackedTable
          label="Agreement by week"
          rows={shown.toReversed()}
          keyOf={({ week }) => week}
          columns={[
            { label: 'Week', cell: nameOf },
            {
              label: 'Outputs',
              cell: week => {
                const end = bucketEnd({ from: week.week, days: WEEK_DAYS })
                const start = `${week.week}T00:00:00.000Z`
                const { outputs } = week.decision
                return (
                  <Counted
                    value={outputs}
                    path={pathTo({ label: 'decision', from: start > from ? start : from, to: end < to ? end : to })}
                    label={`${counted(outputs, 'compared output')}, ${nameOf(week)}`}
                  />
                )
              },
            },
            {
              label: 'Pairs that agree',
              cell: ({ decision: { agreed, pairs } }) => `${share(agreed, pairs)} of ${count(pairs)}`,
            },
            {
              label: 'α',
              cell: ({ decision: { alpha, outputs } }) => whyNot(alpha, outputs) ?? beyondChance(alpha.value ?? 0),
            },
          ]}
        />
      )}
    />
  )
}

/** Every week from the first to the last, with or without votes. */
function bucketsFrom(weeks: readonly Week[]): Bucket[] {
  const buckets: Bucket[] = []
  const last = weeks.at(-1)?.week ?? ''
  for (
    let from = weeks[0]?.week ?? '';
    from !== '' && from <= last;
    from = bucketEnd({ from, days: WEEK_DAYS }).slice(0, 10)
  )
    buckets.push({ from, days: WEEK_DAYS })
  return buckets
}
