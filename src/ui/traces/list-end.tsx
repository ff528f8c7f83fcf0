import { Button, Loader } from '@mantine/core'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { Moment } from '../parts/moment.tsx'
import classes from './trace-table.module.css'

interface ListEndProps {
  hasMore: boolean
  isLoading: boolean
  /** Of the last page, where it was short. */
  lookedBackTo: string | null
  error: Error | null
  onMore: () => unknown
}

/** What stands after the last row: whether there is more, and how far back the list looked for it. */
export function ListEnd({ hasMore, isLoading, lookedBackTo, error, onMore }: ListEndProps) {
  if (error) return <FaultAlert error={error} title="No more could be read" onRetry={onMore} />
  if (!hasMore) return <div className={classes.end}>That is all.</div>
  return (
    <div className={classes.end} role="status">
      {isLoading && <Loader size={14} aria-hidden />}
      {lookedBackTo !== null && (
        <span>
          Looked back to <Moment at={lookedBackTo} />.
        </span>
      )}
      {isLoading ? (
        <span>Loading…</span>
      ) : (
        <Button size="compact-xs" variant="default" onClick={onMore}>
          Look further back
        </Button>
      )}
    </div>
  )
}
