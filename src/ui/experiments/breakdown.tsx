import { Stack } from '@mantine/core'
import type { ExperimentReport } from '../api/wire.ts'
import { useErrorTypeNames } from '../session/error-type-names.ts'
import { BreakdownTable, useCountColumns } from './breakdown-table.tsx'
import { Effort } from './effort.tsx'
import { Fields } from './fields.tsx'
import { intervalOf, passRate } from './pass-rate.ts'
import { Reach } from './reach.tsx'

type Split = ExperimentReport['splits'][number]

/**
 * An experiment's counts by split, error type, and field. Also shows its time and cost, and how much to trust its
 * numbers.
 */
export function Breakdown({ report }: { report: ExperimentReport }) {
  const typeName = useErrorTypeNames()
  const columnsOf = useCountColumns(report.id)
  return (
    <Stack gap="lg">
      <BreakdownTable
        title="By split"
        columns={[
          ...columnsOf<Split>({
            label: 'Split',
            nameOf: ({ split }) => split,
            filterOf: ({ split }) => ({ split }),
          }),
          { label: 'Pass rate', isNarrow: true, cell: passRate },
          { label: '95% interval', isNarrow: true, cell: split => intervalOf(split) ?? '–' },
        ]}
        rows={report.splits}
        keyOf={({ split }) => split}
      />
      <BreakdownTable
        title="By original error type"
        description="The error types that reviewers named when they corrected the outputs in production."
        columns={columnsOf<ExperimentReport['errorTypes'][number]>({
          label: 'Error type',
          nameOf: ({ errorType }) => typeName(errorType),
          filterOf: ({ errorType }) => ({ errorType }),
        })}
        rows={report.errorTypes}
        keyOf={({ errorType }) => errorType}
      />
      <Fields report={report} />
      <Effort report={report} />
      <Reach report={report} />
    </Stack>
  )
}
