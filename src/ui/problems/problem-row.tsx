import { Text } from '@mantine/core'
import type { Problem } from '../api/wire.ts'
import type { TimeRange, WindowDays } from '../insights/window.ts'
import { ShownText } from '../json/shown-text.tsx'
import { Moment } from '../parts/moment.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { Figures } from './figures.tsx'
import { ProblemPlace, useProblemName } from './name.tsx'
import { problemPath } from './paths.ts'
import classes from './problems.module.css'
import { ProgressLine } from './progress-line.tsx'

interface ProblemRowProps {
  problem: Problem
  project: string
  windows: { current: TimeRange; before: TimeRange }
  days: WindowDays
  assigneeName: string | undefined
}

/** A problem on the board. */
export function ProblemRow({ problem, project, windows, days, assigneeName }: ProblemRowProps) {
  const nameOf = useProblemName()
  return (
    <li className={classes.row}>
      <div>
        <Text size="md" component="h3" className={classes.name}>
          <TextLink href={problemPath(project, problem.id, days)} fw={600} data-problem={problem.id}>
            <ShownText text={nameOf(problem)} />
          </TextLink>{' '}
          <ProblemPlace problem={problem} />
        </Text>
        <Figures problem={problem} project={project} windows={windows} days={days} />
        <ProgressLine problem={problem} project={project} />
      </div>
      <div className={classes.side}>
        <Text size="xs" c="dimmed">
          {problem.assignee === null ? 'Unassigned' : <ShownText text={assigneeName ?? '…'} />}
        </Text>
        {problem.lastAt !== null && (
          <Text size="xs" c="dimmed">
            Last seen <Moment at={problem.lastAt} precision="brief" />
          </Text>
        )}
      </div>
    </li>
  )
}
