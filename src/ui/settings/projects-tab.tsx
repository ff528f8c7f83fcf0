import { Group, Stack, Text } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import type { Project } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { curlOf } from '../parts/curl.ts'
import { Empty } from '../parts/empty.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { Moment } from '../parts/moment.tsx'
import { ShowMore } from '../parts/show-more.tsx'
import { type Column, StackedTable } from '../parts/stacked-table.tsx'
import { OneProjectOnly, useOnlyProject } from './limits-of-key.tsx'
import { DeleteProject, EditProject, NewProject } from './project-dialogs.tsx'
import { projectsQuery } from './queries.ts'
import { retentionInWords } from './retention.ts'
import { TabBar } from './tab-bar.tsx'

/** The organization's projects. */
export function ProjectsTab() {
  const query = useInfiniteQuery(projectsQuery)
  const onlyProject = useOnlyProject()
  const projects = query.data?.pages.flatMap(page => page.projects)
  return (
    <Stack gap="sm">
      <TabBar about="Each project holds one pipeline's traces, prompts, knowledge docs, and error types, and sets how long traces are kept.">
        {onlyProject === null && <NewProject />}
      </TabBar>
      <OneProjectOnly>
        Only this project is listed. To add projects, sign in with a key for the whole organization.
      </OneProjectOnly>
      {query.error && !query.data ? (
        <FaultAlert error={query.error} onRetry={query.refetch} />
      ) : projects?.length === 0 ? (
        <Empty
          title="No projects yet"
          curl={curlOf('/api/projects', { method: 'POST', body: { slug: 'support', name: 'Customer support' } })}
        >
          Create the first one here or from a terminal:
        </Empty>
      ) : (
        <StackedTable label="Projects" columns={COLUMNS} rows={projects} keyOf={({ id }) => id} />
      )}
      <ShowMore query={query} />
    </Stack>
  )
}

const COLUMNS: Column<Project>[] = [
  {
    label: 'Name',
    cell: ({ name, slug }) => (
      <>
        <Text size="sm" fw={600} dir="auto">
          <ShownText text={name} />
        </Text>
        <Text size="xs" c="dimmed" ff="monospace">
          {slug}
        </Text>
      </>
    ),
  },
  { label: 'Retention', cell: retentionInWords },
  {
    label: 'Analysis',
    cell: ({ autoAttribute }) => (autoAttribute ? 'Automatic' : 'On request'),
  },
  { label: 'Created', cell: ({ createdAt }) => <Moment at={createdAt} />, isNarrow: true },
  {
    label: 'Actions',
    cell: project => (
      <Group gap={4} wrap="nowrap" justify="flex-end">
        <EditProject project={project} />
        <DeleteProject project={project} />
      </Group>
    ),
    isActions: true,
  },
]
