import { useMemo } from 'react'
import type { Insights } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { Counted } from '../parts/counted.tsx'
import { count, counted } from '../parts/format.ts'
import { Table } from '../parts/table.tsx'
import { BarSwatch } from './bar-pattern.tsx'
import classes from './insights.module.css'
import { ThroughputChart } from './lazy-charts.tsx'
import type { Paths } from './paths.ts'
import { ChartSection, ScrolledTable } from './section.tsx'
import { type Reviewer, shownSeparately, throughput } from './throughput.ts'
import { type Bucket, bucketName } from './window.ts'

/** The section's anchor in the page. */
export const REVIEWERS_ID = 'reviewers'

interface ReviewersProps {
  reviewers: Insights['reviewers']
  buckets: readonly Bucket[]
  paths: Paths
}

/** Decisions per reviewer, by day and in total. */
export function Reviewers({ reviewers, buckets, paths }: ReviewersProps) {
  const everybody = useMemo(() => throughput(reviewers, buckets), [reviewers, buckets])
  const apart = useMemo(() => shownSeparately(everybody), [everybody])
  return (
    <ChartSection
      id={REVIEWERS_ID}
      title="Reviewers"
      description="Decisions per UTC day, excluding those that were replaced or undone."
      chart={
        <div className={classes.throughput}>
          <ThroughputChart
            label="Decisions by day and reviewer. Switch to the table for the numbers."
            reviewers={apart}
            buckets={buckets}
          />
          <Totals everybody={everybody} apart={apart} paths={paths} />
        </div>
      }
      table={() => <DayTable everybody={everybody} buckets={buckets} paths={paths} />}
    />
  )
}

interface TotalsProps {
  everybody: readonly Reviewer[]
  apart: readonly Reviewer[]
  paths: Paths
}

function Totals({ everybody, apart, paths }: TotalsProps) {
  // Combined reviewers share the last bar's pattern.
  const swatchOf = (index: number) =>
    (apart[index]?.key === everybody[index]?.key ? apart[index] : apart.at(-1))?.style ?? 0
  return (
    <ScrolledTable label="Decisions by reviewer">
      <Table verticalSpacing={4}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Reviewer</Table.Th>
            <Table.Th className={classes.number}>Decisions</Table.Th>
            <Table.Th className={classes.number}>Days</Table.Th>
            <Table.Th className={classes.number}>Per day</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {everybody.map(({ key, userId, name, total, activeDays }, index) => (
            <Table.Tr key={key}>
              <Table.Td className={classes.reviewer} dir="auto">
                <BarSwatch index={swatchOf(index)} /> <ShownText text={name} />
              </Table.Td>
              <Table.Td className={classes.number}>
                <Counted
                  value={total}
                  path={paths.decisions({ reviewerId: userId })}
                  label={`${counted(total, 'decision')} by ${name}`}
                />
              </Table.Td>
              <Table.Td className={classes.number}>{count(activeDays)}</Table.Td>
              <Table.Td className={classes.number}>
                {activeDays === 0 ? '–' : count(Math.round(total / activeDays))}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrolledTable>
  )
}

function DayTable({ everybody, buckets, paths }: Omit<ReviewersProps, 'reviewers'> & Pick<TotalsProps, 'everybody'>) {
  const newestFirst = [...buckets.entries()].toReversed()
  return (
    <ScrolledTable label="Decisions by day and reviewer">
      <Table verticalSpacing={4}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Period</Table.Th>
            {everybody.map(({ key, name }) => (
              <Table.Th key={key} className={`${classes.number} ${classes.reviewer}`}>
                <ShownText text={name} />
              </Table.Th>
            ))}
            <Table.Th className={classes.number}>All</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {newestFirst.map(([index, bucket]) => (
            <Table.Tr key={bucket.from}>
              <Table.Td>{bucketName(bucket)}</Table.Td>
              {everybody.map(({ key, userId, name, reviewed }) => (
                <Table.Td key={key} className={classes.number}>
                  <Counted
                    value={reviewed[index] ?? 0}
                    path={paths.decisions({ reviewerId: userId }, bucket)}
                    label={`${counted(reviewed[index] ?? 0, 'decision')} by ${name}, ${bucketName(bucket)}`}
                  />
                </Table.Td>
              ))}
              <Table.Td className={classes.number}>
                <Counted
                  value={everybody.reduce((sum, { reviewed }) => sum + (reviewed[index] ?? 0), 0)}
                  path={paths.decisions({}, bucket)}
                  label={`All decisions, ${bucketName(bucket)}`}
                />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrolledTable>
  )
}
