import { Anchor, Skeleton, Stack, Title } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useParams, useSearchParams } from 'wouter'
import { Fault, pathWith } from '../api/client.ts'
import { errorTypesQuery } from '../api/error-types.ts'
import { sessionQuery } from '../api/session.ts'
import type { ExperimentReport } from '../api/wire.ts'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { useProject, useProjectOfPage } from '../session/project.ts'
import { GateResult } from '../texts/gate-section.tsx'
import { Breakdown } from './breakdown.tsx'
import { itemListsOf } from './filters.ts'
import { Headline } from './headline.tsx'
import { Items } from './items.tsx'
import { Judging } from './judging.tsx'
import { itemsQuery, reportQuery } from './queries.ts'
import classes from './report.module.css'
import { ReportHeader } from './report-header.tsx'
import { Running } from './running.tsx'
import { useProjectPrompts } from './use-prompt-versions.ts'
import { ViewTabs } from './view-tabs.tsx'

/** An experiment: how to run it, and its report. */
export function Page() {
  const { experimentId = '' } = useParams<{ experimentId: string }>()
  const [address] = useSearchParams()
  const project = useProject()
  const { data: report, error, refetch } = useQuery(reportQuery(experimentId))
  usePageTitle(report ? (report.name ?? report.stepId) : 'Experiment')
  // Requested together with the report.
  useInfiniteQuery(itemsQuery(experimentId, itemListsOf(address)))
  useQuery(errorTypesQuery(project))
  useProjectPrompts(project)
  if (report) return <Report key={experimentId} report={report} />
  return (
    <Stack gap="sm">
      <BackLink />
      <Title order={1}>Experiment</Title>
      {error ? (
        <FaultAlert
          error={error}
          title={
            error instanceof Fault && error.status === 404
              ? "This experiment doesn't exist"
              : "Couldn't load this experiment"
          }
          onRetry={refetch}
        />
      ) : (
        <Skeleton h={320} />
      )}
    </Stack>
  )
}

function Report({ report }: { report: ExperimentReport }) {
  const [address] = useSearchParams()
  const { data: session } = useQuery(sessionQuery)
  const project = session?.projects.find(({ id }) => id === report.projectId)
  useProjectOfPage(project?.slug ?? '')
  return (
    <Stack gap="md" className={classes.report}>
      <div>
        <BackLink />
        <ReportHeader report={report} />
      </div>
      <Running report={report} />
      <Headline report={report} />
      <Judging report={report} />
      {report.gate && <GateResult state={report.gate} isOnReport={report.gate.experimentId === report.id} />}
      <ViewTabs>
        {address.get('view') === 'breakdown' ? <Breakdown report={report} /> : <Items report={report} />}
      </ViewTabs>
    </Stack>
  )
}

/** Links back to the list, or to the problem that the experiment should prove fixed. */
function BackLink() {
  const project = useProject()
  const [address] = useSearchParams()
  const problemId = address.get('problem')
  const path = problemId === null ? '/experiments' : `/problems/${encodeURIComponent(problemId)}`
  return (
    <Anchor component={Link} href={pathWith(path, { project })} size="sm">
      {problemId === null ? 'Experiments' : 'Problem'}
    </Anchor>
  )
}
