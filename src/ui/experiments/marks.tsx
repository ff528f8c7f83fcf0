import { Badge } from '@mantine/core'
import type { ExperimentItem, ExperimentReport } from '../api/wire.ts'
import {
  IconAlertTriangle,
  IconBan,
  IconCheck,
  IconCircleDashed,
  IconClockOff,
  IconLoader,
  IconTrendingDown,
  IconTrendingUp,
  IconX,
} from '../icons/index.ts'
import { CHANGES, STATES } from './filters.ts'
import classes from './marks.module.css'

interface MarkProps {
  label: string
  Icon: typeof IconCheck
  className: string | undefined
}

const Mark = ({ label, Icon, className }: MarkProps) => (
  <Badge
    variant="transparent"
    miw="max-content"
    className={`${classes.mark} ${className}`}
    leftSection={<Icon size={13} aria-hidden />}
  >
    {label}
  </Badge>
)

const STATE_MARKS = {
  running: { Icon: IconLoader, className: classes.open },
  finished: { Icon: IconCheck, className: classes.good },
  cancelled: { Icon: IconBan, className: classes.quiet },
  failed: { Icon: IconClockOff, className: classes.bad },
}

export const StateMark = ({ state }: Pick<ExperimentReport, 'state'>) => (
  <Mark label={STATES[state]} {...STATE_MARKS[state]} />
)

const OUTCOME_MARKS = {
  passed: { label: 'Passed', Icon: IconCheck, className: classes.good },
  failed: { label: 'Failed', Icon: IconX, className: classes.bad },
  unjudged: { label: 'Unjudged', Icon: IconCircleDashed, className: classes.open },
  error: { label: 'Error', Icon: IconAlertTriangle, className: classes.bad },
  pending: { label: 'Pending', Icon: IconLoader, className: classes.quiet },
}

/** The outcome of a candidate's output. */
export const OutcomeMark = ({ outcome }: Pick<ExperimentItem, 'outcome'>) => (
  <Mark {...OUTCOME_MARKS[outcome ?? 'pending']} />
)

/** Whether a candidate is now right or wrong where the baseline wasn't. */
export const ChangeMark = ({ change }: Pick<ExperimentItem, 'change'>) =>
  change === 'regressed' ? (
    <Mark label={CHANGES.regressed} Icon={IconTrendingDown} className={classes.bad} />
  ) : change === 'fixed' ? (
    <Mark label={CHANGES.fixed} Icon={IconTrendingUp} className={classes.good} />
  ) : null
