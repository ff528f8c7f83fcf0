import { Group, Stack, Text, Title } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { pathWith } from '../api/client.ts'
import type { Dataset } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { Moment } from '../parts/moment.tsx'
import { NoProject } from '../parts/no-project.tsx'
import { ShowMore } from '../parts/show-more.tsx'
import { type Column, StackedTable } from '../parts/stacked-table.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { useProject } from '../session/project.ts'
import { COUNTS, CountLink } from './count-link.tsx'
import { evaluatorWords } from './evaluator-words.ts'
import { NewDataset } from './new-dataset.tsx'
import { NoDatasets } from './no-datasets.tsx'
import { datasetsQuery } from './queries.ts'

/** A project's datasets, one per step. */
export function Page() {
  usePageTitle('Datasets')
  const project = useProject()
  const query = useInfiniteQuery(datasetsQuery(project))
  const datasets = query.data?.pages.flatMap(page => page.datasets)
  const isEmpty = datasets?.length === 0 && !query.hasNextPage
  const isFailed = query.error !== null && !query.data
  return (
    <Stack gap="sm">
      <Group justify="space-between" align="start" gap="xs">
        <div>
          <Title order={1}>Datasets</Title>
          <Text size="sm" c="dimmed">
            Each step's reviewed outputs, for testing new versions.
          </Text>
        </div>
        {project !== undefined && !isEmpty && <NewDataset project={project} />}
      </Group>
      {project === undefined && <NoProject />}
      {isFailed && query.error && (
        <FaultAlert error={query.error} title="Couldn't load the datasets" onRetry={query.refetch} />
      )}
      {project !== undefined && isEmpty && <NoDatasets project={project} />}
      {project !== undefined && !isEmpty && !isFailed && (
        <StackedTable label="Datasets" columns={columnsOf(project)} rows={datasets} keyOf={({ id }) => id} />
      )}
      <ShowMore query={query} />
    </Stack>
  )
}

const columnsOf = (project: string): Column<Dataset>[] => [
  {
    label: 'Step',
    cell: ({ id, stepId }) => (
      <TextLink href={pathWith(`/datasets/${id}`, { project })}>
        <span dir="auto">
          <ShownText text={stepId} />
        </span>
      </TextLink>
    ),
  },
  ...COUNTS.map(of => ({
    label: of.label,
    isNarrow: true,
    cell: (dataset: Dataset) => <CountLink of={of} dataset={dataset} project={project} />,
  })),
  { label: 'Evaluator', cell: ({ evaluator }) => evaluatorWords(evaluator) },
  { label: 'Updated', isNarrow: true, cell: ({ updatedAt }) => <Moment at={updatedAt} /> },
]
