import { Group, Skeleton, Stack, Text, Title } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useRef } from 'react'
import { pathWith } from '../api/client.ts'
import type { Insights, Problem } from '../api/wire.ts'
import { Counted } from '../parts/counted.tsx'
import { Empty } from '../parts/empty.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { counted } from '../parts/format.ts'
import { NoProject } from '../parts/no-project.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { problemsQuery } from '../problems/queries.ts'
import { useErrorTypes } from '../session/error-type-names.ts'
import { useProject } from '../session/project.ts'
import { Acceptance } from './acceptance.tsx'
import { ErrorTypes } from './error-types.tsx'
import { FirstSteps } from './first-steps.tsx'
import { FixNext } from './fix-next.tsx'
import { Headline, HeadlineSkeleton } from './headline.tsx'
import classes from './insights.module.css'
import { loadCharts } from './lazy-charts.tsx'
import { type Paths, pathsIn } from './paths.ts'
import { insightsQuery, isNewProject, newestTraceQuery } from './queries.ts'
import { decidedOf, sumOf } from './ranking.ts'
import { Reviewers } from './reviewers.tsx'
import { Usage } from './usage.tsx'
import { bucketsOf, rangeName, type WindowDays, windowsAt } from './window.ts'
import { useWindow, WindowSelect } from './window-select.tsx'

/** Insights: what to fix next. */
export function Page() {
  usePageTitle('Insights')
  const project = useProject()
  useEffect(loadCharts, [])
  if (project === undefined) {
    return (
      <Stack>
        <Title order={1}>Insights</Title>
        <NoProject />
      </Stack>
    )
  }
  return <ProjectInsights key={project} project={project} />
}

function ProjectInsights({ project }: { project: string }) {
  const [days, chooseDays] = useWindow()
  const { current, before } = windowsAt(Date.now(), days)
  const insights = useQuery(insightsQuery(project, current))
  const earlier = useQuery(insightsQuery(project, before))
  const newest = useQuery(newestTraceQuery(project))
  const { data: listed } = useInfiniteQuery(problemsQuery(project, current, null))
  const typeNames = useErrorTypes()
  const isNew = newest.data !== undefined && isNewProject(newest.data)
  useOnEnd(isNew, insights.refetch)
  const isReady = insights.data !== undefined && !newest.isPending
  return (
    <Stack gap="lg" className={classes.page} data-stale={insights.isPlaceholderData || undefined}>
      <Group justify="space-between" gap="xs">
        <div>
          <Title order={1}>Insights</Title>
          <Text size="xs" c="dimmed">
            {rangeName(insights.data ?? current)} (UTC)
          </Text>
        </div>
        {!isNew && <WindowSelect days={days} onChoose={chooseDays} />}
      </Group>
      {insights.error && (
        <FaultAlert error={insights.error} title="Couldn't load insights" onRetry={insights.refetch} />
      )}
      {isNew && newest.data && <FirstSteps project={project} newest={newest.data} />}
      {!isReady && !insights.error && <PageSkeleton />}
      {isReady && !isNew && (
        <Findings
          insights={insights.data}
          problems={listed?.pages.flatMap(page => page.problems) ?? NO_PROBLEMS}
          before={earlier.isPlaceholderData ? undefined : earlier.data}
          days={days}
          project={project}
          typeNames={typeNames}
        />
      )}
    </Stack>
  )
}

/** Runs an action when `isOn` becomes false. */
function useOnEnd(isOn: boolean, act: () => unknown): void {
  const wasOn = useRef(false)
  useEffect(() => {
    if (wasOn.current && !isOn) act()
    wasOn.current = isOn
  }, [isOn, act])
}

const NO_PROBLEMS: Problem[] = []

interface FindingsProps {
  insights: Insights
  /** The first page of the project's problems. The problems with the most cases come first. */
  problems: readonly Problem[]
  before: Insights | undefined
  days: WindowDays
  project: string
  typeNames: ReadonlyMap<string, string>
}

function Findings({ insights, problems, before, days, project, typeNames }: FindingsProps) {
  const { from, to, errorTypes, reviewers } = insights
  const buckets = useMemo(() => bucketsOf({ from, to }), [from, to])
  const paths = useMemo(() => pathsIn(project, { from, to }), [project, from, to])
  const isDecided = decidedOf(sumOf(insights.steps)) > 0
  return (
    <>
      <Headline insights={insights} before={before} days={days} project={project} paths={paths} />
      {!isDecided && <NoDecisions insights={insights} days={days} project={project} paths={paths} />}
      {isDecided && (
        <FixNext
          insights={insights}
          problems={problems}
          days={days}
          project={project}
          typeNames={typeNames}
          paths={paths}
        />
      )}
      {isDecided && <Acceptance insights={insights} buckets={buckets} paths={paths} />}
      {(isDecided || errorTypes.length > 0) && <ErrorTypes counts={errorTypes} typeNames={typeNames} paths={paths} />}
      {insights.versions.length > 0 && <Usage insights={insights} buckets={buckets} />}
      {isDecided && <Reviewers reviewers={reviewers} buckets={buckets} paths={paths} />}
    </>
  )
}

interface NoDecisionsProps extends Omit<FindingsProps, 'before' | 'problems' | 'typeNames'> {
  paths: Paths
}

function NoDecisions({ insights: { outputs }, days, project, paths }: NoDecisionsProps) {
  const waiting = outputs.total - outputs.reviewed
  return (
    <Empty title={`No decisions in the last ${days} days`}>
      Corrections show what to fix next.{' '}
      {waiting > 0 && (
        <>
          <Counted
            value={waiting}
            path={paths.outputs({ review: 'waiting' })}
            label={`${counted(waiting, 'output')} to review`}
          />{' '}
          {waiting === 1 ? 'output from this period is' : 'outputs from this period are'} waiting for review.{' '}
        </>
      )}
      <TextLink href={pathWith('/review', { project })} underline="always">
        Review outputs
      </TextLink>
      {days < 90 && (
        <>
          , or{' '}
          <TextLink href={pathWith('/', { project, days: 90 })} underline="always">
            view the last 90 days
          </TextLink>
        </>
      )}
      .
    </Empty>
  )
}

const PageSkeleton = () => (
  <>
    <HeadlineSkeleton />
    <Skeleton h={420} />
    <Skeleton h={520} />
  </>
)
