import { Anchor, Skeleton, Stack, Text, Title } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { pathWith } from '../api/client.ts'
import { modelQuery } from '../api/model.ts'
import { datasetsQuery } from '../datasets/queries.ts'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { NoProject } from '../parts/no-project.tsx'
import { MissingScope, useMay } from '../parts/scopes.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { useProject } from '../session/project.ts'
import { FirstExperiment } from './first-experiment.tsx'
import { NewExperimentForm } from './new-experiment-form.tsx'
import { useProjectPrompts } from './use-prompt-versions.ts'

/** Starts an experiment. */
export function Page() {
  usePageTitle('New experiment')
  const project = useProject()
  const mayReview = useMay('review')
  const { data, error, refetch } = useInfiniteQuery(datasetsQuery(project))
  // Requested together with the datasets.
  useProjectPrompts(project)
  useQuery(modelQuery(project))
  return (
    <Stack gap="sm" maw={560}>
      <div>
        <Anchor component={Link} href={pathWith('/experiments', { project })} size="sm">
          Experiments
        </Anchor>
        <Title order={1}>New experiment</Title>
        <Text size="sm" c="dimmed">
          Runs a candidate on a step's reviewed inputs, and counts how many of its outputs are right.
        </Text>
      </div>
      {project === undefined ? (
        <NoProject />
      ) : mayReview === false ? (
        <MissingScope scope="review">You can't start experiments</MissingScope>
      ) : error && !data ? (
        <FaultAlert error={error} title="Couldn't load the datasets" onRetry={refetch} />
      ) : !data ? (
        <Skeleton h={240} />
      ) : data.pages[0]?.datasets.length === 0 ? (
        <FirstExperiment project={project} />
      ) : (
        <NewExperimentForm key={project} project={project} datasets={data.pages.flatMap(page => page.datasets)} />
      )}
    </Stack>
  )
}
