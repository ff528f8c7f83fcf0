import { badRequest, notFound } from '../http/errors.ts'
import { ingestProject, PROJECT_HEADER } from '../ingest/project.ts'
import { findProject, type Project } from '../store/accounts/projects.ts'
import type { ExportContext } from './endpoint.ts'
import type { Source } from './reading/telemetry.ts'

/** How a resource names its project (github.com/Arize-ai/openinference, spec/semantic_conventions.md). */
const PROJECT_ATTRIBUTE = 'openinference.project.name'

/**
 * Records by the project that they go to: the key's own or the one that the request names, else each the one that its
 * resource names. Errors: as any ingestion; 400 where nothing names a project.
 */
export async function byProject<RecordType extends { source: Source }>(
  context: ExportContext,
  records: readonly RecordType[],
): Promise<Map<Project, RecordType[]>> {
  const { caller, headers, store } = context
  if (caller.project || headers.has(PROJECT_HEADER)) return new Map([[await ingestProject(context), [...records]]])
  const named = Map.groupBy(records, ({ source }) => source.resource.get(PROJECT_ATTRIBUTE))
  const projects = new Map<Project, RecordType[]>()
  for (const [slug, ofProject] of named) {
    if (typeof slug !== 'string') {
      throw badRequest(
        `is required with a key that serves all projects, or ${PROJECT_ATTRIBUTE} in the resource`,
        PROJECT_HEADER,
      )
    }
    const project = await findProject(store, { slug })
    if (!project) throw notFound('Project not found')
    projects.set(project, ofProject)
  }
  return projects
}
