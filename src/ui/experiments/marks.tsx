import type { ExperimentItem, ExperimentReport } from '../api/wire.ts'
import {
  IconAlertTriangle,
  IconBan,
  IconCheck,
  IconCircleDashed,
  IconClockOff,
  IconLoader,
  IconRobot,
  IconTrendingDown,
  IconTrendingUp,
  IconX,
} from '../icons/index.ts'
import { Mark } from '../parts/mark.tsx'
import { CHANGES, JUDGMENTS, STATES } from './filters.ts'

const STATE_MARKS = {
  running: { Icon: IconLoader, tone: 'open' },
  finished: { Icon: IconCheck, tone: 'good' },
  cancelled: { Icon: IconBan, tone: 'quiet' },
  failed: { Icon: IconClockOff, tone: 'bad' },
} as const

export const StateMark = ({ state }: Pick<ExperimentReport, 'state'>) => (
  <Mark label={STATES[state]} {...STATE_MARKS[state]} />
)

const OUTCOME_MARKS = {
  passed: { label: 'Passed', Icon: IconCheck, tone: 'good' },
  failed: { label: 'Failed', Icon: IconX, tone: 'bad' },
  unjudged: { label: 'Unjudged', Icon: IconCircleDashed, tone: 'open' },
  error: { label: 'Error', Icon: IconAlertTriangle, tone: 'bad' },
  pending: { label: 'Pending', Icon: IconLoader, tone: 'quiet' },
} as const

/** The outcome of a candidate's output. */
export const OutcomeMark = ({ outcome }: Pick<ExperimentItem, 'outcome'>) => (
  <Mark {...OUTCOME_MARKS[outcome ?? 'pending']} />
)

/** Whether a candidate's output is better or worse than the baseline's: fixed or regressed. */
export const ChangeMark = ({ change }: Pick<ExperimentItem, 'change'>) =>
  change === 'regressed' ? (
    <Mark label={CHANGES.regressed} Icon={IconTrendingDown} tone="bad" />
  ) : change === 'fixed' ? (
    <Mark label={CHANGES.fixed} Icon={IconTrendingUp} tone="good" />
  ) : null

/** A model's judgment of a candidate's output. It isn't a decision, so its color is muted. */
export const JudgmentMark = ({ judgment }: Pick<ExperimentItem, 'judgment'>) =>
  judgment && (
    <Mark label={`Model: ${judgment.same ? JUDGMENTS.same : JUDGMENTS.different}`} Icon={IconRobot} tone="quiet" />
  )
