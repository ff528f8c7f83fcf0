import { useLocalStorage, useMediaQuery } from '@mantine/hooks'
import { useMemo } from 'react'
import { type ColumnId, isColumn } from './columns.tsx'

const REMEMBERED = 'countersign.traces.columns'

const DEFAULT: readonly ColumnId[] = ['time', 'name', 'input', 'output', 'review', 'errorType', 'cost', 'duration']
const WIDE_DEFAULT: readonly ColumnId[] = [
  'time',
  'name',
  'input',
  'output',
  'review',
  'errorType',
  'model',
  'tokens',
  'cost',
  'duration',
]

interface ChosenColumns {
  columns: readonly ColumnId[]
  /** Whether the reader chose the columns. */
  isChosen: boolean
  choose: (columns: readonly ColumnId[]) => void
  /** Resets to the columns that fit the window. */
  reset: () => void
}

/** The table's columns in order, which the browser remembers. */
export function useColumns(): ChosenColumns {
  const isWide = useMediaQuery('(min-width: 90em)', undefined, { getInitialValueInEffect: false }) ?? true
  const [remembered, choose, reset] = useLocalStorage<readonly ColumnId[] | null>({
    key: REMEMBERED,
    defaultValue: null,
    getInitialValueInEffect: false,
    deserialize: columnsIn,
  })
  return useMemo(
    () => ({
      columns: remembered ?? (isWide ? WIDE_DEFAULT : DEFAULT),
      isChosen: remembered !== null,
      choose,
      reset,
    }),
    [remembered, isWide, choose, reset],
  )
}

/** The columns in stored text. Another version of the app may have written it. */
function columnsIn(text: string | undefined): readonly ColumnId[] | null {
  const stored: unknown = text === undefined ? null : parsed(text)
  if (!Array.isArray(stored)) return null
  const columns = [...new Set(stored.filter(isColumn))]
  return columns.includes('name') ? columns : null
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
