import { Skeleton } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './stacked-table.module.css'
import { Table } from './table.tsx'

export interface Column<Row> {
  label: string
  cell: (row: Row) => ReactNode
  /** A CSS length, to line up several tables. By default, the contents determine the width. */
  width?: string
  /** Whether it is only as wide as its contents. */
  isNarrow?: boolean
  /** Whether it contains the row's buttons. They're aligned to the end, without a label on narrow screens. */
  isActions?: boolean
}

interface StackedTableProps<Row> {
  /** The accessible name. */
  label: string
  columns: readonly Column<Row>[]
  /** Undefined while loading. */
  rows: readonly Row[] | undefined
  keyOf: (row: Row) => string
}

const EXPECTED_ROWS = 5

/** A table whose rows become cards on narrow screens, so that nothing scrolls sideways. */
export function StackedTable<Row>({ label, columns, rows, keyOf }: StackedTableProps<Row>) {
  // Without explicit roles, the card layout would drop the table's semantics.
  return (
    <Table className={classes.table} aria-label={label} aria-busy={rows === undefined} role="table" verticalSpacing={6}>
      <Table.Thead className={classes.header} role="rowgroup">
        <Table.Tr role="row">
          {columns.map(column => (
            <Table.Th
              key={column.label}
              role="columnheader"
              className={classesOf(classes.head, column)}
              style={{ width: column.width }}
            >
              {column.label}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody className={classes.body} role="rowgroup">
        {rows === undefined
          ? Array.from({ length: EXPECTED_ROWS }, (_, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: placeholder rows
              <Table.Tr key={index} role="row" className={classes.row}>
                <Table.Td role="cell" className={classes.awaited} colSpan={columns.length}>
                  <Skeleton h={20} />
                </Table.Td>
              </Table.Tr>
            ))
          : rows.map(row => (
              <Table.Tr key={keyOf(row)} role="row" className={classes.row}>
                {columns.map(column => (
                  <Table.Td key={column.label} role="cell" className={classesOf(classes.cell, column)}>
                    {!column.isActions && (
                      <span className={classes.label} aria-hidden>
                        {column.label}
                      </span>
                    )}
                    <div className={classes.value}>{column.cell(row)}</div>
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
      </Table.Tbody>
    </Table>
  )
}

const classesOf = (own: string | undefined, { isNarrow, isActions }: Pick<Column<never>, 'isNarrow' | 'isActions'>) =>
  [own, (isNarrow || isActions) && classes.fit, isActions && classes.end].filter(Boolean).join(' ')
