import { Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { sessionQuery } from '../api/session.ts'
import { useChooseProject, useProject } from '../session/project.ts'

/** Chooses the current project. */
export function ProjectSelect() {
  const { data: session } = useQuery(sessionQuery)
  const project = useProject()
  const choose = useChooseProject()
  const options = (session?.projects ?? []).map(({ slug, name }) => ({ value: slug, label: name }))
  return (
    <Select
      aria-label="Project"
      size="xs"
      data={options.length === 0 && project !== undefined ? [project] : options}
      value={project ?? null}
      placeholder="No projects yet"
      onChange={slug => slug !== null && choose(slug)}
      allowDeselect={false}
      searchable={options.length > 8}
    />
  )
}
