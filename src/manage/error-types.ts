import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { PROJECT_ID } from '../api/story.ts'
import { findBuiltIn } from '../attribution/taxonomy.ts'
import { ERROR_CATEGORIES } from '../domain/attribution.ts'
import { errorTypeUuid } from '../domain/ids.ts'
import { shownAs, text, Uuid } from '../http/atoms.ts'
import { unprocessable, unprocessableFields } from '../http/errors.ts'
import { parse } from '../http/validation.ts'
import { MAX_ERROR_TYPE_LENGTH, MAX_PROJECT_ERROR_TYPES, MAX_RULE_LENGTH } from '../limits.ts'
import { ErrorType } from '../read/error-types.ts'
import { errorType } from '../read/examples.ts'
import { selectedProject } from '../read/project.ts'
import { saveErrorType } from '../store/attribution/error-types.ts'
import { Name } from './wire.ts'

const IS_BUILT_IN = 'A built-in error type can only be enabled or disabled'

/** Why a change is rejected. */
const REFUSED = {
  last_enabled: () => unprocessable('At least one error type must stay enabled', 'isEnabled'),
  too_many: () =>
    unprocessable(`A project may have at most ${MAX_PROJECT_ERROR_TYPES} error types of its own`, 'errorType'),
}

const ErrorTypeName = v.pipe(
  v.string(),
  v.regex(/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/, 'must be lowercase words of letters and digits, joined by _'),
  v.maxLength(MAX_ERROR_TYPE_LENGTH, `must have at most ${MAX_ERROR_TYPE_LENGTH} characters`),
)

const definition = {
  name: Name,
  category: v.picklist(ERROR_CATEGORIES),
  rule: v.pipe(text(1, MAX_RULE_LENGTH), v.metadata({ description: 'Describes when this type is the cause' })),
}

const IsEnabled = v.pipe(
  v.boolean(),
  v.metadata({ description: 'Whether engines and reviewers can choose this type. Default: true.' }),
)

const OwnErrorType = v.strictObject({ ...definition, isEnabled: v.optional(IsEnabled, true) })

export const putErrorType = endpoint({
  family: 'manage',
  method: 'PUT',
  path: '/api/projects/{projectId}/error-types/{errorType}',
  summary: 'Create or update an error type',
  description: "Creates or updates a project's own error type, or enables or disables any type.",
  scope: 'manage',
  // The handler checks the name, because a 404 wouldn't say what's wrong with it.
  params: v.object({ projectId: Uuid, errorType: shownAs(v.string(), ErrorTypeName) }),
  body: v.strictObject({
    name: v.optional(v.pipe(definition.name, v.metadata({ description: 'Required unless the type is built in.' }))),
    category: v.optional(
      v.pipe(definition.category, v.metadata({ description: 'Required unless the type is built in.' })),
    ),
    rule: v.optional(
      v.pipe(
        definition.rule,
        v.metadata({ description: 'Describes when this type is the cause. Required unless the type is built in.' }),
      ),
    ),
    isEnabled: v.optional(IsEnabled, true),
  }),
  errors: { 422: IS_BUILT_IN },
  responses: { 200: ErrorType },
  example: {
    params: { projectId: PROJECT_ID, errorType: errorType.errorType },
    body: { name: errorType.name, category: errorType.category, rule: errorType.rule },
    answers: { 200: errorType },
  },
}).handle(async ({ params, body, caller, store, act, unscoped }) => {
  const errorType = parse(v.object({ errorType: ErrorTypeName }), params).errorType
  const builtIn = findBuiltIn(errorType)
  const fixed = builtIn ? (['name', 'category', 'rule'] as const).filter(field => body[field] !== undefined) : []
  if (fixed.length > 0) {
    const details = fixed.map(path => ({ path, message: "can't be changed for a built-in error type" }))
    throw unprocessableFields(IS_BUILT_IN, details)
  }
  const { name, category, rule } = builtIn ?? parse(OwnErrorType, body)
  const project = await selectedProject({ caller, store, unscoped }, { projectId: params.projectId })
  const id = builtIn?.id ?? (await errorTypeUuid(project.id, errorType))
  const { isEnabled } = body
  const own = builtIn ? null : { name, category, rule }
  const outcome = await saveErrorType(store, act, project, { errorType, id, own, isEnabled })
  if (outcome !== 'saved') throw REFUSED[outcome]()
  return { status: 200, body: { id, errorType, name, category, rule, isBuiltIn: builtIn !== undefined, isEnabled } }
})
