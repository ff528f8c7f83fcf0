import { Code, Text } from '@mantine/core'
import type { Json, VersionDiff } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { type Column, StackedTable } from '../parts/stacked-table.tsx'

type Change = VersionDiff['schema'][number]

/** The differences between two schemas. */
export const SchemaChanges = ({ changes }: { changes: readonly Change[] }) =>
  changes.length === 0 ? (
    <Text size="sm" c="dimmed">
      No changes.
    </Text>
  ) : (
    <StackedTable label="Output schema changes" columns={COLUMNS} rows={changes} keyOf={({ path }) => path} />
  )

const ACTS = { add: 'Added', remove: 'Removed', change: 'Changed' } as const

const COLUMNS: Column<Change>[] = [
  {
    label: 'Path',
    cell: ({ path }) => <Code>{path === '' ? 'whole schema' : <ShownText text={path} />}</Code>,
  },
  { label: 'Change', cell: ({ op }) => ACTS[op], isNarrow: true },
  { label: 'Before', cell: ({ op, before }) => (op === 'add' ? '–' : <Value value={before} />) },
  { label: 'After', cell: ({ op, after }) => (op === 'remove' ? '–' : <Value value={after} />) },
]

const Value = ({ value }: { value: Json }) => (
  <Text size="xs" ff="monospace" lineClamp={6}>
    <ShownText text={JSON.stringify(value)} />
  </Text>
)
