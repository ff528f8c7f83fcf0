import { Anchor, Group, Skeleton, Stack, Text, Title } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useParams } from 'wouter'
import { Fault, pathWith } from '../api/client.ts'
import type { Problem } from '../api/wire.ts'
import { useProjectPrompts } from '../experiments/use-prompt-versions.ts'
import { windowsAt } from '../insights/window.ts'
import { useWindow, WindowSelect } from '../insights/window-select.tsx'
import { ShownText } from '../json/shown-text.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { Moment } from '../parts/moment.tsx'
import { NoProject } from '../parts/no-project.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { useErrorTypes } from '../session/error-type-names.ts'
import { useProject } from '../session/project.ts'
import { Dismissal } from './dismissal.tsx'
import { Examples } from './examples.tsx'
import { Figures } from './figures.tsx'
import { ProblemPlace, useProblemName } from './name.tsx'
import classes from './problem-page.module.css'
import { Progress } from './progress.tsx'
import { examplesQuery, problemQuery } from './queries.ts'
import { StateMark } from './states.tsx'

/** A problem: its examples, and the progress of its fix. */
export function Page() {
  const { problemId = '' } = useParams<{ problemId: string }>()
  const project = useProject()
  const [days, chooseDays] = useWindow()
  const { current } = windowsAt(Date.now(), days)
  const { data: problem, error, refetch } = useQuery(problemQuery(project, problemId, current))
  const nameOf = useProblemName()
  usePageTitle(problem ? nameOf(problem) : 'Problem')
  // Requested together with the problem.
  useInfiniteQuery(examplesQuery(project, problemId, current))
  useErrorTypes()
  useProjectPrompts(project)
  return (
    <Stack gap="sm" className={classes.page}>
      <div>
        <Anchor component={Link} href={pathWith('/problems', { project, days: days === 30 ? null : days })} size="sm">
          Problems
        </Anchor>
        <Group justify="space-between" align="start" gap="xs">
          <Heading problem={problem} />
          <WindowSelect days={days} onChoose={chooseDays} />
        </Group>
      </div>
      {project === undefined && <NoProject />}
      {error && !problem && (
        <FaultAlert
          error={error}
          title={
            error instanceof Fault && error.status === 404 ? "This problem doesn't exist" : "Couldn't load this problem"
          }
          onRetry={refetch}
        />
      )}
      {project !== undefined && !error && problem === undefined && <Expected />}
      {project !== undefined && problem && (
        <>
          <Figures problem={problem} project={project} windows={windowsAt(Date.now(), days)} days={days} />
          <div className={classes.columns}>
            <Progress problem={problem} project={project} />
            <Examples problem={problem} project={project} range={current} />
          </div>
        </>
      )}
    </Stack>
  )
}

function Heading({ problem }: { problem: Problem | undefined }) {
  const nameOf = useProblemName()
  if (!problem) return <Title order={1}>Problem</Title>
  return (
    <div className={classes.heading}>
      <Group gap="xs">
        <Title order={1} dir="auto">
          <ShownText text={nameOf(problem)} />
        </Title>
        <div role="status" aria-label="State">
          <StateMark state={problem.state} />
        </div>
        <Dismissal problem={problem} />
      </Group>
      <Text size="sm" c="dimmed">
        <ProblemPlace problem={problem} />
        {problem.lastAt !== null && (
          <>
            . Last seen <Moment at={problem.lastAt} />
          </>
        )}
      </Text>
      {problem.note !== null && (
        <Text size="sm" dir="auto" mt={4}>
          <ShownText text={problem.note} />
        </Text>
      )}
    </div>
  )
}

const Expected = () => (
  <div className={classes.columns}>
    <Skeleton h={320} />
    <Skeleton h={480} />
  </div>
)
