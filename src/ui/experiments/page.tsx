import { Button, Group, Stack, Text, Title } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useSearchParams } from 'wouter'
import { pathWith } from '../api/client.ts'
import { useNames } from '../api/names.ts'
import { datasetsQuery } from '../datasets/queries.ts'
import { IconPlus } from '../icons/index.ts'
import { Empty } from '../parts/empty.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { NoProject } from '../parts/no-project.tsx'
import { useMay } from '../parts/scopes.tsx'
import { ShowMore } from '../parts/show-more.tsx'
import { StackedTable } from '../parts/stacked-table.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { useProject } from '../session/project.ts'
import { columnsOf } from './columns.tsx'
import { FilterBar } from './filter-bar.tsx'
import { listFiltersIn } from './filters.ts'
import { FirstExperiment } from './first-experiment.tsx'
import { experimentsQuery } from './queries.ts'
import { usePromptVersions } from './use-prompt-versions.ts'

/** A project's experiments. */
export function Page() {
  usePageTitle('Experiments')
  const project = useProject()
  const [address] = useSearchParams()
  const filters = listFiltersIn(address)
  const query = useInfiniteQuery(experimentsQuery(project, filters))
  const { data: listed } = useInfiniteQuery(datasetsQuery(project))
  const datasets = listed?.pages.flatMap(page => page.datasets) ?? []
  const experiments = query.data?.pages.flatMap(page => page.experiments)
  const names = useNames((experiments ?? []).map(({ createdBy }) => createdBy))
  const filtered = datasets.find(({ id }) => id === address.get('datasetId'))
  const versions = usePromptVersions(project, [
    filtered?.stepId,
    ...(experiments ?? []).map(({ promptVersionId, stepId }) => (promptVersionId === null ? undefined : stepId)),
  ])
  const isEmpty = experiments?.length === 0 && !query.hasNextPage
  return (
    <Stack gap="sm">
      <Heading project={project} />
      {project === undefined ? (
        <NoProject />
      ) : (
        !(isEmpty && filters.length === 0) && <FilterBar datasets={datasets} versions={versions} />
      )}
      {query.error && !query.data && (
        <FaultAlert error={query.error} title="Couldn't load the experiments" onRetry={query.refetch} />
      )}
      {isEmpty &&
        (filters.length === 0 ? (
          <FirstExperiment project={project} />
        ) : (
          <Empty title="No experiments match">Remove a filter to see more.</Empty>
        ))}
      {project !== undefined && !isEmpty && !(query.error && !query.data) && (
        <StackedTable
          label="Experiments"
          columns={columnsOf(project, names, versions)}
          rows={experiments}
          keyOf={({ id }) => id}
        />
      )}
      <ShowMore query={query} />
    </Stack>
  )
}

function Heading({ project }: { project: string | undefined }) {
  const mayReview = useMay('review')
  return (
    <Group justify="space-between" align="start">
      <div>
        <Title order={1}>Experiments</Title>
        <Text size="sm" c="dimmed">
          What a prompt version or a code change gets right, compared with what reviewers approved.
        </Text>
      </div>
      {mayReview && project !== undefined && (
        <Button
          component={Link}
          href={pathWith('/experiments/new', { project })}
          size="xs"
          leftSection={<IconPlus size={14} aria-hidden />}
        >
          New experiment
        </Button>
      )}
    </Group>
  )
}
