import { Code } from '@mantine/core'
import type { ExperimentReport } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { count, share } from '../parts/format.ts'
import type { Column } from '../parts/stacked-table.tsx'
import { BreakdownTable } from './breakdown-table.tsx'

type Field = ExperimentReport['fields'][number]

/** How often each field agrees with the expected value. */
export const Fields = ({ report: { fields, otherFields } }: { report: ExperimentReport }) => (
  <BreakdownTable
    title="By field"
    description="How often each field agrees with the expected value. Free text that differs isn't necessarily wrong."
    columns={COLUMNS}
    rows={[...fields, ...(otherFields ? [{ ...otherFields, path: OTHERS }] : [])]}
    keyOf={({ path }) => path}
  />
)

const OTHERS = 'All other fields'

const COLUMNS: Column<Field>[] = [
  {
    label: 'Field',
    cell: ({ path }) =>
      path === '' ? (
        'The whole output'
      ) : path === OTHERS ? (
        OTHERS
      ) : (
        <Code>
          <ShownText text={path} />
        </Code>
      ),
  },
  { label: 'Accuracy', isNarrow: true, cell: ({ agreed, compared }) => share(agreed, compared) },
  { label: 'Agrees', isNarrow: true, cell: ({ agreed }) => count(agreed) },
  { label: 'Compared', isNarrow: true, cell: ({ compared }) => count(compared) },
]
