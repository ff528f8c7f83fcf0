import { Code, Text } from '@mantine/core'
import type { Json, VersionDiff } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { type Column, StackedTable } from '../parts/stacked-table.tsx'

type Change = VersionDiff['schema'][number]

/** Where two schemas differ, and how. */
export const SchemaChanges = ({ changes }: { changes: readonly Change[] }) =>
  changes.length === 0 ? (
    <Text size="sm" c="dimmed">
      The same in both.
    </Text>
  ) : (
    <StackedTable label="Changes of the output schema" columns={COLUMNS} rows={changes} keyOf={({ path }) => path} />
  )

const ACTS = { add: 'Added', remove: 'Removed', change: 'Changed' } as const

const COLUMNS: Column<Change>[] = [
  {
    label: 'Place',
    cell: ({ path }) => <Code>{path === '' ? 'the whole schema' : <ShownText text={path} />}</Code>,
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
