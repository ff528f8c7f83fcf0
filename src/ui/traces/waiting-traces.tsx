import { Button, VisuallyHidden } from '@mantine/core'
import { IconArrowUp } from '../icons/index.ts'
import { counted } from '../parts/format.ts'
import classes from './trace-table.module.css'

interface WaitingTracesProps {
  count: number
  /** Whether there are more new traces than `count`. */
  hasMore: boolean
  onShow: () => void
}

/** A button that shows the new traces that arrived while the reader was farther down. */
export function WaitingTraces({ count: waiting, hasMore, onShow }: WaitingTracesProps) {
  const label = `${hasMore ? 'More than ' : ''}${counted(waiting, 'new trace')}`
  return (
    <>
      <VisuallyHidden role="status">{waiting > 0 && label}</VisuallyHidden>
      {waiting > 0 && (
        <div className={classes.waiting}>
          <Button size="compact-sm" radius="xl" leftSection={<IconArrowUp size={14} aria-hidden />} onClick={onShow}>
            {label}
          </Button>
        </div>
      )}
    </>
  )
}
