import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { PROJECT_ID } from '../api/story.ts'
import { ERROR_CATEGORIES } from '../domain/attribution.ts'
import { Uuid } from '../http/atoms.ts'
import { firstOf, NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { listErrorTypes as readErrorTypes } from '../store/attribution/error-types.ts'
import { builtInErrorType, errorType } from './examples.ts'
import { selectedProject } from './project.ts'

export const ErrorType = v.object({
  id: v.pipe(
    Uuid,
    v.metadata({
      description: 'UUIDv5 of error-type:<errorType> in the project. A built-in type has the same ID in every project.',
    }),
  ),
  errorType: v.string(),
  name: v.string(),
  category: v.picklist(ERROR_CATEGORIES),
  rule: v.pipe(v.string(), v.metadata({ description: 'Describes when this type is the cause' })),
  isBuiltIn: v.boolean(),
  isEnabled: v.pipe(v.boolean(), v.metadata({ description: 'Whether engines and reviewers can choose this type' })),
})

export const listErrorTypes = endpoint({
  family: 'read',
  method: 'GET',
  path: '/api/error-types',
  summary: 'List error types',
  description:
    "Lists the possible causes of a disagreement: the built-in types, then the project's own types, oldest first.",
  scope: 'read',
  query: v.strictObject({
    projectSlug: v.optional(v.pipe(v.string(), v.metadata({ description: "Includes this project's own types" }))),
    projectId: v.optional(
      v.pipe(
        v.string(),
        v.metadata({
          description:
            "Includes this project's own types. For a key limited to one project, the default is that project.",
        }),
        v.toLowerCase(),
      ),
    ),
    ...pageParameters,
  }),
  etag: 'body',
  errors: { 404: 'Not found' },
  responses: { 200: v.object({ errorTypes: v.array(ErrorType), nextCursor: NextCursor }) },
  example: {
    query: { projectId: PROJECT_ID },
    answers: { 200: { errorTypes: [builtInErrorType, errorType], nextCursor: null } },
  },
}).handle(async context => {
  const { query, caller, store } = context
  const isNamed = query.projectSlug !== undefined || query.projectId !== undefined
  const project = isNamed ? await selectedProject(context, query) : caller.project
  const { items, nextCursor } = await pageOf({
    list: ['error-types', store.organization.id, project?.id ?? ''],
    query,
    place: ['string'],
    read: async (limit, after) => {
      // There are so few types that one query returns them all, and no type is ever removed.
      const types = await readErrorTypes(store, project?.key ?? null)
      const start = after ? types.findIndex(({ errorType }) => errorType === after[0]) + 1 : 0
      return firstOf(types.slice(start), limit, ({ errorType }) => [errorType] as const)
    },
  })
  return { status: 200, body: { errorTypes: items, nextCursor } }
})
