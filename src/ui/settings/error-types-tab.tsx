import { Skeleton, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { sessionQuery } from '../api/session.ts'
import type { ErrorTypes } from '../api/wire.ts'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { NoProject } from '../parts/no-project.tsx'
import { MissingScope, useMay } from '../parts/scopes.tsx'
import { useProject } from '../session/project.ts'
import { ErrorTypeForm } from './error-type-form.tsx'
import { ErrorTypeTable } from './error-type-table.tsx'
import { changeableErrorTypesQuery } from './queries.ts'
import { TabBar } from './tab-bar.tsx'

type Category = ErrorTypes['errorTypes'][number]['category']

const CATEGORIES: readonly { category: Category; about: string }[] = [
  { category: 'AI Error', about: 'The pipeline is at fault: its model, prompt, retrieval, or tools.' },
  { category: 'User Error', about: "The user's input didn't allow for a better output." },
  { category: 'Human Error', about: 'The reviewer or labeler is at fault.' },
]

/** The project's error types: built-in and custom. */
export function ErrorTypesTab() {
  const projectSlug = useProject()
  const { data: session } = useQuery(sessionQuery)
  const mayManage = useMay('manage')
  const { data, error, refetch, isPlaceholderData } = useQuery(changeableErrorTypesQuery(projectSlug))
  const project = session?.projects.find(({ slug }) => slug === projectSlug)
  const errorTypes = data?.errorTypes
  const projectId = mayManage && !isPlaceholderData ? project?.id : undefined
  return (
    <Stack gap="md">
      <TabBar
        about={`Root causes that explain why a reviewer disagrees with an output${project ? ` in ${project.name}` : ''}. The engine and reviewers choose from the enabled types.`}
      >
        {projectId !== undefined && errorTypes && <ErrorTypeForm projectId={projectId} errorTypes={errorTypes} />}
      </TabBar>
      {mayManage === false && <MissingScope scope="manage">You can view error types but not change them</MissingScope>}
      {error && !data && <FaultAlert error={error} onRetry={refetch} />}
      {projectSlug === undefined && session && <NoProject />}
      {!error && !data && projectSlug !== undefined && <Skeleton h={600} />}
      {errorTypes &&
        CATEGORIES.map(({ category, about }) => (
          <Stack key={category} gap={4} component="section" aria-label={category}>
            <Title order={2}>{category}</Title>
            <Text size="sm" c="dimmed">
              {about}
            </Text>
            <ErrorTypeTable
              label={category}
              projectId={projectId}
              errorTypes={errorTypes.filter(errorType => errorType.category === category)}
              all={errorTypes}
            />
          </Stack>
        ))}
    </Stack>
  )
}
