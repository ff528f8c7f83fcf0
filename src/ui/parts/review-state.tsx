import { Badge, VisuallyHidden } from '@mantine/core'
import { IconCheck, IconCircleDashed, IconCircleHalf, IconHistory, IconPencil } from '../icons/index.ts'
import classes from './review-state.module.css'

const STATES = {
  unreviewed: { label: 'Unreviewed', Icon: IconCircleDashed, className: classes.unreviewed },
  accepted: { label: 'Accepted', Icon: IconCheck, className: classes.accepted },
  corrected: { label: 'Corrected', Icon: IconPencil, className: classes.corrected },
  mixed: { label: 'Partly reviewed', Icon: IconCircleHalf, className: classes.unreviewed },
} as const

type ShownReviewState = keyof typeof STATES

interface ReviewStateProps {
  state: ShownReviewState
  /** Whether the output changed after its review, so that it has to be reviewed again. */
  isStale?: boolean
  /** Whether only the icon shows that the output changed. */
  isCompact?: boolean
}

/** The review state of a span or a trace. */
export function ReviewState({ state, isStale = false, isCompact = false }: ReviewStateProps) {
  const { label, ...fresh } = STATES[state]
  const { Icon, className } = isStale ? { Icon: IconHistory, className: classes.unreviewed } : fresh
  return (
    <Badge
      variant="transparent"
      className={`${classes.badge} ${className}`}
      leftSection={<Icon size={13} aria-hidden />}
      {...(isStale && { title: 'The output changed after it was reviewed' })}
    >
      {label}
      {isStale && (isCompact ? <VisuallyHidden>, output changed</VisuallyHidden> : ', output changed')}
    </Badge>
  )
}
