import { Button, Loader } from '@mantine/core'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { counted } from '../parts/format.ts'
import { Moment } from '../parts/moment.tsx'
import classes from './trace-table.module.css'

interface ListEndProps {
  /** How many traces are listed. */
  length: number
  hasMore: boolean
  /** Whether the list is the result of a search by text. */
  isSearch: boolean
  isLoading: boolean
  /** If the last page was short, how far back its search went; otherwise, null. */
  lookedBackTo: string | null
  error: Error | null
  onMore: () => unknown
}

/** The end of the list. Shows whether there are more traces, and how far back the search went. */
export function ListEnd({ length, hasMore, isSearch, isLoading, lookedBackTo, error, onMore }: ListEndProps) {
  if (error) return <FaultAlert error={error} title="Couldn't load more" onRetry={onMore} />
  if (!hasMore) return <div className={classes.end}>{counted(length, 'trace')}</div>
  return (
    <div className={classes.end} role="status">
      {isLoading && <Loader size={14} aria-hidden />}
      {lookedBackTo !== null && (
        <span>
          Searched back to <Moment at={lookedBackTo} />.
        </span>
      )}
      {isLoading ? (
        <span>{isSearch ? 'Searching…' : 'Loading…'}</span>
      ) : (
        <Button size="compact-xs" variant="default" onClick={onMore}>
          {isSearch ? 'Search older traces' : 'Load older traces'}
        </Button>
      )}
    </div>
  )
}
