import { useQuery } from '@tanstack/react-query'
import { sessionQuery } from '../api/session.ts'
import { useChooseProject, useProject } from '../session/project.ts'

/** Chooses the current project. */
export function ProjectSelect() {
  const { data: session } = useQuery(sessionQuery)
  const project = useProject()
  const choose = useChooseProject()
  const projects = session?.projects ?? (project === undefined ? [] : [{ slug: project, name: project }])
  return (
    <select
      className="frame-project"
      aria-label="Project"
      value={project ?? ''}
      onChange={({ currentTarget }) => choose(currentTarget.value)}
    >
      {project === undefined && <option value="">No projects yet</option>}
      {projects.map(({ slug, name }) => (
        <option key={slug} value={slug}>
          {name}
        </option>
      ))}
    </select>
  )
}
