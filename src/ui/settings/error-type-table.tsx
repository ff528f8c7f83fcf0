import { Badge, Group, Text } from '@mantine/core'
import { ShownText } from '../json/shown-text.tsx'
import { type Column, StackedTable } from '../parts/stacked-table.tsx'
import { ErrorTypeForm } from './error-type-form.tsx'
import { ErrorTypeSwitch } from './error-type-switch.tsx'
import type { ErrorType } from './writes.ts'

interface ErrorTypeTableProps {
  label: string
  errorTypes: readonly ErrorType[]
  all: readonly ErrorType[]
  /** Undefined if the error types are read-only. */
  projectId: string | undefined
}

/** The error types in a category. */
export function ErrorTypeTable({ label, errorTypes, all, projectId }: ErrorTypeTableProps) {
  if (errorTypes.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        None.
      </Text>
    )
  }
  const columns: Column<ErrorType>[] = [
    {
      label: 'Enabled',
      cell: errorType => <ErrorTypeSwitch projectId={projectId} errorType={errorType} />,
      isNarrow: true,
    },
    {
      label: 'Type',
      width: '18rem',
      cell: ({ name, errorType, isBuiltIn }) => (
        <>
          <Group gap="xs">
            <Text size="sm" fw={600} dir="auto">
              <ShownText text={name} />
            </Text>
            {!isBuiltIn && (
              <Badge variant="default" size="sm" tt="none" fw={400}>
                Custom
              </Badge>
            )}
          </Group>
          <Text size="xs" c="dimmed" ff="monospace">
            {errorType}
          </Text>
        </>
      ),
    },
    {
      label: 'When it applies',
      cell: ({ rule }) => (
        <Text size="sm" dir="auto">
          <ShownText text={rule} />
        </Text>
      ),
    },
    ...(projectId !== undefined && errorTypes.some(({ isBuiltIn }) => !isBuiltIn)
      ? [
          {
            label: 'Actions',
            cell: (errorType: ErrorType) =>
              !errorType.isBuiltIn && <ErrorTypeForm projectId={projectId} errorTypes={all} own={errorType} />,
            isActions: true,
          },
        ]
      : []),
  ]
  return <StackedTable label={label} columns={columns} rows={errorTypes} keyOf={({ id }) => id} />
}
