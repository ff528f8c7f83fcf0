import { Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { sessionQuery } from '../api/session.ts'
import { ShownText } from '../json/shown-text.tsx'
import { curlOf } from '../parts/curl.ts'
import { Empty } from '../parts/empty.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { NoProject } from '../parts/no-project.tsx'
import { MissingScope, useMay } from '../parts/scopes.tsx'
import { type Column, StackedTable } from '../parts/stacked-table.tsx'
import { useProject } from '../session/project.ts'
import { stepNamesQuery } from './queries.ts'
import { RenameStep, UndoRename } from './step-name-dialogs.tsx'
import { TabBar } from './tab-bar.tsx'

interface RenamedStep {
  oldName: string
  newName: string
}

const COLUMNS: Column<RenamedStep>[] = [
  { label: 'Old name', width: '45%', cell: ({ oldName }) => <ShownText text={oldName} /> },
  { label: 'New name', cell: ({ newName }) => <ShownText text={newName} /> },
]

/** The project's renamed steps. */
export function StepNamesTab() {
  const projectSlug = useProject()
  const { data: session } = useQuery(sessionQuery)
  const mayManage = useMay('manage')
  const project = session?.projects.find(({ slug }) => slug === projectSlug)
  const { data: names, error, refetch } = useQuery(stepNamesQuery(project?.id))
  const steps = names && stepsIn(names)
  const projectId = mayManage ? project?.id : undefined
  return (
    <Stack gap="md">
      <TabBar
        about={`New names for steps${project ? ` in ${project.name}` : ''}. The new names apply to prompts, insights, and all spans, including spans that pipelines send later under the old name. Steps with the same new name become one step.`}
      >
        {projectId !== undefined && names && <RenameStep projectId={projectId} names={names} />}
      </TabBar>
      {mayManage === false && <MissingScope scope="manage">You can view renamed steps but not rename any</MissingScope>}
      {error && !names && <FaultAlert error={error} onRetry={refetch} />}
      {projectSlug === undefined && session && <NoProject />}
      {steps?.length === 0 ? (
        <Empty
          title="No renamed steps"
          {...(projectId !== undefined && {
            curl: curlOf(`/api/projects/${projectId}/step-names`, {
              method: 'PUT',
              body: { names: { 'old-name': 'new-name' } },
            }),
          })}
        >
          Steps have the names that pipelines give them
          {projectId !== undefined && '. Rename a step here or from a terminal:'}
        </Empty>
      ) : (
        project &&
        !(error && !names) && (
          <StackedTable
            label="Renamed steps"
            columns={[
              ...COLUMNS,
              ...(projectId === undefined
                ? []
                : [
                    {
                      label: 'Actions',
                      cell: ({ oldName }: RenamedStep) => <UndoRename projectId={projectId} oldName={oldName} />,
                      isActions: true,
                    },
                  ]),
            ]}
            rows={steps}
            keyOf={({ oldName }) => oldName}
          />
        )
      )}
    </Stack>
  )
}

/** The renamed steps. Steps that were merged are next to each other. */
const stepsIn = (names: Readonly<Record<string, string>>): RenamedStep[] =>
  Object.entries(names)
    .map(([oldName, newName]) => ({ oldName, newName }))
    .toSorted((left, right) => left.newName.localeCompare(right.newName) || left.oldName.localeCompare(right.oldName))
