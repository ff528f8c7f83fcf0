import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { ERROR_CATEGORIES } from '../domain/attribution.ts'
import { Uuid } from '../http/atoms.ts'
import { firstOf, NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { listErrorTypes as readErrorTypes } from '../store/attribution/error-types.ts'
import { selectedProject } from './project.ts'

export const ErrorType = v.object({
  id: v.pipe(
    Uuid,
    v.metadata({
      description: 'UUIDv5 of error-type:<errorType> in the project; of a built-in one, the same everywhere',
    }),
  ),
  errorType: v.string(),
  name: v.string(),
  category: v.picklist(ERROR_CATEGORIES),
  rule: v.pipe(v.string(), v.metadata({ description: 'When it is the cause' })),
  isBuiltIn: v.boolean(),
  isEnabled: v.pipe(v.boolean(), v.metadata({ description: 'Whether engines answer it and reviewers may name it' })),
})

export const listErrorTypes = endpoint({
  family: 'read',
  method: 'GET',
  path: '/api/error-types',
  summary: "List what a disagreement may come from: the built-in types, then a project's own, oldest first",
  scope: 'read',
  query: v.strictObject({
    projectSlug: v.optional(v.pipe(v.string(), v.metadata({ description: "With this project's own types" }))),
    projectId: v.optional(
      v.pipe(
        v.string(),
        v.metadata({ description: "The same by its id; with neither, a project's key has its project's" }),
        v.toLowerCase(),
      ),
    ),
    ...pageParameters,
  }),
  etag: 'body',
  errors: { 404: 'Not found' },
  responses: { 200: v.object({ errorTypes: v.array(ErrorType), nextCursor: NextCursor }) },
}).handle(async context => {
  const { query, caller, store } = context
  const isNamed = query.projectSlug !== undefined || query.projectId !== undefined
  const project = isNamed ? await selectedProject(context, query) : caller.project
  const { items, nextCursor } = await pageOf({
    list: ['error-types', store.organization.id, project?.id ?? ''],
    query,
    place: ['string'],
    read: async (limit, after) => {
      // All of them are few, and one query; none is ever removed.
      const types = await readErrorTypes(store, project?.key ?? null)
      const start = after ? types.findIndex(({ errorType }) => errorType === after[0]) + 1 : 0
      return firstOf(types.slice(start), limit, ({ errorType }) => [errorType] as const)
    },
  })
  return { status: 200, body: { errorTypes: items, nextCursor } }
})
