import { useMemo } from 'react'
import type { Insights } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { Counted } from '../parts/counted.tsx'
import { count } from '../parts/format.ts'
import { Table } from '../parts/table.tsx'
import { BarSwatch } from './bar-pattern.tsx'
import type { DecisionsPath } from './decisions-path.ts'
import classes from './insights.module.css'
import { ThroughputChart } from './lazy-charts.tsx'
import { ChartSection, ScrolledTable } from './section.tsx'
import { type Reviewer, shownSeparately, throughput } from './throughput.ts'
import { type Bucket, bucketName } from './window.ts'

interface ReviewersProps {
  reviewers: Insights['reviewers']
  buckets: readonly Bucket[]
  pathTo: DecisionsPath
}

/** Decisions per reviewer, by day and in total. */
export function Reviewers({ reviewers, buckets, pathTo }: ReviewersProps) {
  const everybody = useMemo(() => throughput(reviewers, buckets), [reviewers, buckets])
  const apart = useMemo(() => shownSeparately(everybody), [everybody])
  return (
    <ChartSection
      title="Reviewers"
      description="Decisions per day, without those that were replaced or undone."
      chart={
        <div className={classes.throughput}>
          <ThroughputChart
            label="Decisions by day and reviewer. Switch to the table for the numbers."
            reviewers={apart}
            buckets={buckets}
          />
          <Totals everybody={everybody} apart={apart} pathTo={pathTo} />
        </div>
      }
      table={() => <DayTable everybody={everybody} buckets={buckets} pathTo={pathTo} />}
    />
  )
}

interface TotalsProps {
  everybody: readonly Reviewer[]
  apart: readonly Reviewer[]
  pathTo: DecisionsPath
}

function Totals({ everybody, apart, pathTo }: TotalsProps) {
  // Combined reviewers share the last bar's pattern.
  const swatchOf = (index: number) => (apart[index]?.key === everybody[index]?.key ? index : apart.length - 1)
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
                  path={pathTo({ reviewerId: userId })}
                  label={`${count(total)} decisions by ${name}`}
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

function DayTable({ everybody, buckets, pathTo }: Omit<ReviewersProps, 'reviewers'> & Pick<TotalsProps, 'everybody'>) {
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
                    path={pathTo({ reviewerId: userId }, bucket)}
                    label={`${count(reviewed[index] ?? 0)} decisions by ${name}, ${bucketName(bucket)}`}
                  />
                </Table.Td>
              ))}
              <Table.Td className={classes.number}>
                {count(everybody.reduce((sum, { reviewed }) => sum + (reviewed[index] ?? 0), 0))}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrolledTable>
  )
}
