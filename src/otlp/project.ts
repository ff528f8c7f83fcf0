import { badRequest, notFound } from '../http/errors.ts'
import { ingestProject, PROJECT_HEADER } from '../ingest/project.ts'
import { findProject, type PlacedProject } from '../store/accounts/projects.ts'
import type { ExportContext } from './endpoint.ts'
import type { Source } from './reading/telemetry.ts'

/** The resource attribute that names the project (github.com/Arize-ai/openinference, spec/semantic_conventions.md). */
const PROJECT_ATTRIBUTE = 'openinference.project.name'

/**
 * Groups records by project: the API key's project, or else the project that the request names, or else the project
 * that each record's resource names. Errors: the same as for all ingestion, and 400 if nothing names a project.
 */
export async function byProject<RecordType extends { source: Source }>(
  context: ExportContext,
  records: readonly RecordType[],
): Promise<Map<PlacedProject, RecordType[]>> {
  const { caller, headers, store } = context
  if (caller.project || headers.has(PROJECT_HEADER)) return new Map([[await ingestProject(context), [...records]]])
  const named = Map.groupBy(records, ({ source }) => source.resource.get(PROJECT_ATTRIBUTE))
  const projects = new Map<PlacedProject, RecordType[]>()
  for (const [slug, ofProject] of named) {
    if (typeof slug !== 'string') {
      throw badRequest(
        `is required if the key can access all projects, unless the resource has ${PROJECT_ATTRIBUTE}`,
        PROJECT_HEADER,
      )
    }
    const project = await findProject(store, { slug })
    if (!project) throw notFound('Project not found')
    projects.set(project, ofProject)
  }
  return projects
}
