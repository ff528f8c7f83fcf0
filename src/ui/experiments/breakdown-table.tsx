import { Stack, Text, Title } from '@mantine/core'
import { useId } from 'react'
import { useSearchParams } from 'wouter'
import type { ExperimentReport } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { Counted } from '../parts/counted.tsx'
import { counted } from '../parts/format.ts'
import { type Column, StackedTable } from '../parts/stacked-table.tsx'
import { CHANGES, countWithName, type ItemFilter, OUTCOMES, withItemFilter } from './filters.ts'
import classes from './report.module.css'

interface BreakdownTableProps<Row> {
  title: string
  description?: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
}

/** A titled table of counts. Renders nothing if there are no rows. */
export function BreakdownTable<Row>({ title, description, ...table }: BreakdownTableProps<Row>) {
  const id = useId()
  if (table.rows.length === 0) return null
  return (
    <Stack component="section" gap={4} aria-labelledby={id} className={classes.table}>
      <Title order={2} id={id}>
        {title}
      </Title>
      {description && (
        <Text size="xs" c="dimmed">
          {description}
        </Text>
      )}
      <StackedTable {...table} label={title} />
    </Stack>
  )
}

type Counts = ExperimentReport['counts']

interface Group<Row> {
  label: string
  nameOf: (row: Row) => string
  /** Which items a row counts. */
  filterOf: (row: Row) => ItemFilter
}

const COUNTS = [
  { value: 'passed', label: OUTCOMES.passed, filter: { outcome: 'passed' } },
  { value: 'failed', label: OUTCOMES.failed, filter: { outcome: 'failed' } },
  { value: 'unjudged', label: OUTCOMES.unjudged, filter: { outcome: 'unjudged' } },
  { value: 'error', label: OUTCOMES.error, filter: { outcome: 'error' } },
  { value: 'fixed', label: CHANGES.fixed, filter: { change: 'fixed' } },
  { value: 'regressed', label: CHANGES.regressed, filter: { change: 'regressed' } },
] as const

/** The columns for groups of items, with counts that link to the items. */
export function useCountColumns(experimentId: string) {
  const [address] = useSearchParams()
  return <Row extends { counts: Counts }>({ label, nameOf, filterOf }: Group<Row>): Column<Row>[] => {
    const pathTo = (filter: ItemFilter) => `/experiments/${experimentId}?${withItemFilter(filter)(address)}`
    return [
      {
        label,
        cell: row => (
          <span dir="auto">
            <ShownText text={nameOf(row)} />
          </span>
        ),
      },
      {
        label: 'Items',
        isNarrow: true,
        cell: row => {
          const { passed, failed, unjudged, error } = row.counts
          const all = passed + failed + unjudged + error
          return <Counted value={all} path={pathTo(filterOf(row))} label={`${counted(all, 'item')}: ${nameOf(row)}`} />
        },
      },
      ...COUNTS.map(
        ({ value, label: outcome, filter }): Column<Row> => ({
          label: outcome,
          isNarrow: true,
          cell: row => (
            <Counted
              value={row.counts[value]}
              path={pathTo({ ...filterOf(row), ...filter })}
              label={`${countWithName(row.counts[value], outcome)}: ${nameOf(row)}`}
            />
          ),
        }),
      ),
    ]
  }
}
