import { Stack, Text } from '@mantine/core'
import { useSearchParams } from 'wouter'
import type { DatasetItem, Json } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { withParameters } from '../parts/parameters.ts'
import { type Column, StackedTable } from '../parts/stacked-table.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { ItemDecision } from './item-decision.tsx'
import { ItemMarks } from './item-marks.tsx'

interface ItemTableProps {
  /** Undefined while loading. */
  items: readonly DatasetItem[] | undefined
  typeNames: ReadonlyMap<string, string>
  userNames: ReadonlyMap<string, string>
}

/** A dataset's items. An item's input links to the whole item. */
export function ItemTable({ items, typeNames, userNames }: ItemTableProps) {
  const [address] = useSearchParams()
  const columns: Column<DatasetItem>[] = [
    {
      label: 'Input',
      width: '28%',
      cell: ({ id, input }) => (
        <TextLink href={`?${withParameters({ item: id })(address)}`}>
          <Preview value={input} />
        </TextLink>
      ),
    },
    { label: 'Expected', width: '24%', cell: ({ expected: [approved = null] }) => <Preview value={approved} /> },
    {
      label: 'Output',
      width: '20%',
      cell: ({ decision, output }) =>
        decision === 'correct' ? (
          <Preview value={output} />
        ) : (
          <Text span inherit c="dimmed">
            {decision === 'accept' ? 'As expected' : '–'}
          </Text>
        ),
    },
    { label: 'Decision', cell: item => <ItemDecision item={item} userNames={userNames} /> },
    {
      label: 'Error type',
      cell: ({ errorType }) => (errorType === null ? '–' : <ShownText text={typeNames.get(errorType) ?? errorType} />),
    },
    {
      label: 'Split',
      isNarrow: true,
      cell: item => (
        <Stack gap={2} align="start">
          {item.split}
          <ItemMarks item={item} />
        </Stack>
      ),
    },
  ]
  return <StackedTable label="Items" columns={columns} rows={items} keyOf={({ id }) => id} />
}

/** Enough characters to fill two lines. */
const PREVIEW_LENGTH = 200

/** The beginning of a value. */
function Preview({ value }: { value: Json }) {
  const text = previewOf(value)
  return (
    <Text span inherit lineClamp={2} dir="auto" style={{ overflowWrap: 'anywhere' }}>
      <ShownText text={text === '' ? 'empty string' : text.slice(0, PREVIEW_LENGTH)} />
    </Text>
  )
}

/** Strings unchanged, an object's fields by name, anything else as JSON. */
const previewOf = (value: Json): string =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.entries(value)
        .map(([name, field]) => `${name}: ${textOf(field)}`)
        .join(', ')
    : textOf(value)

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))
