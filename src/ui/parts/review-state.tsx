import { Badge } from '@mantine/core'
import { IconCheck, IconCircleDashed, IconCircleHalf, IconPencil } from '@tabler/icons-react'
import classes from './review-state.module.css'

const STATES = {
  unreviewed: { label: 'Unreviewed', Icon: IconCircleDashed, className: classes.unreviewed },
  accepted: { label: 'Accepted', Icon: IconCheck, className: classes.accepted },
  corrected: { label: 'Corrected', Icon: IconPencil, className: classes.corrected },
  mixed: { label: 'Partly reviewed', Icon: IconCircleHalf, className: classes.unreviewed },
} as const

export type ShownReviewState = keyof typeof STATES

/** A span's review state, or that of a trace's spans taken together. Stale: an output has changed since its review. */
export function ReviewState({ state, isStale = false }: { state: ShownReviewState; isStale?: boolean }) {
  const { label, Icon, className } = STATES[state]
  return (
    <Badge
      variant="transparent"
      className={`${classes.badge} ${className}`}
      leftSection={<Icon size={13} aria-hidden />}
    >
      {label}
      {isStale && ', output changed'}
    </Badge>
  )
}
