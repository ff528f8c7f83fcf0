import { and, eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { ErrorType } from '../../domain/attribution.ts'
import { Gone } from '../../domain/failures.ts'
import { MAX_PROJECT_ERROR_TYPES } from '../../limits.ts'
import { type Act, recordAct } from '../accounts/audit.ts'
import type { Project } from '../accounts/projects.ts'
import { selectFor } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { projects } from '../schema/accounts.ts'
import { errorTypes, projectErrorTypes } from '../schema/attribution.ts'
import { traces } from '../schema/traces.ts'

/** An error type in a project. */
export interface ProjectErrorType extends ErrorType {
  isBuiltIn: boolean
  /** Whether engines and reviewers may use it. */
  isEnabled: boolean
}

/**
 * A project's error types, including disabled ones: the built-in types in the taxonomy's order, then the project's own,
 * oldest first. If `projectKey` is null, these are only the built-in types, all of them enabled.
 */
export async function listErrorTypes(store: Store, projectKey: number | null): Promise<ProjectErrorType[]> {
  return toErrorTypes(await store.database.batch(errorTypeQueries(store, projectKey)))
}

/** The project's error types that engines may choose. */
export async function listEnabledErrorTypes(store: Store, projectKey: number): Promise<ErrorType[]> {
  const types = await listErrorTypes(store, projectKey)
  return types
    .filter(({ isEnabled }) => isEnabled)
    .map(({ errorType, id, name, category, rule }) => ({ errorType, id, name, category, rule }))
}

/** The queries for a project's error types. Pass their results to `toErrorTypes`. */
export function errorTypeQueries({ database }: Store, projectKey: number | SQL | null) {
  return [
    // All rows, in seeding order.
    database.select().from(errorTypes).where(sql`rowid > 0`).orderBy(sql`rowid`),
    database.select().from(projectErrorTypes).where(sql`${projectErrorTypes.projectKey} = ${projectKey}`),
  ] as const
}

type ErrorTypeRows = readonly [
  readonly (typeof errorTypes.$inferSelect)[],
  readonly (typeof projectErrorTypes.$inferSelect)[],
]

/** Builds error types from the results of `errorTypeQueries`. */
export function toErrorTypes([builtIn, rows]: ErrorTypeRows): ProjectErrorType[] {
  const switchedOff = new Set(rows.filter(({ isEnabled }) => !isEnabled).map(({ errorType }) => errorType))
  const own = rows.toSorted(
    (left, right) => left.createdAt - right.createdAt || (left.errorType < right.errorType ? -1 : 1),
  )
  return [
    ...builtIn.map(type => ({ ...type, isBuiltIn: true, isEnabled: !switchedOff.has(type.errorType) })),
    ...own.flatMap(({ errorType, id, name, category, rule, isEnabled }) =>
      name === null || category === null || rule === null
        ? []
        : [{ errorType, id, name, category, rule, isBuiltIn: false, isEnabled }],
    ),
  ]
}

/** An error type as a project saves it. Only `isEnabled` can be changed for a built-in type. */
export interface ErrorTypeDraft {
  errorType: string
  id: string
  /** Null for a built-in type. */
  own: Pick<ErrorType, 'name' | 'category' | 'rule'> | null
  isEnabled: boolean
}

/**
 * Adds an error type to a project, changes one of the project's own types, or enables or disables any type. Refuses to
 * disable the last enabled type (`last_enabled`) or to exceed the limit (`too_many`). Saving the same values again
 * changes nothing.
 */
export async function saveErrorType(
  { database, organization }: Store,
  act: Act,
  project: Project,
  draft: ErrorTypeDraft,
): Promise<'saved' | 'last_enabled' | 'too_many'> {
  const { errorType, id, own, isEnabled } = draft
  const { name, category, rule } = own ?? BUILT_IN
  const { hasOther, hasRoom, differs } = changeConditions(project, draft)
  const isChange = sql`(${hasOther} and ${hasRoom} and ${differs})`
  const [[guards]] = await database.batch([
    database
      .select({ hasOther: sql<number>`${hasOther}`.as('has_other'), hasRoom: sql<number>`${hasRoom}`.as('has_room') })
      .from(projects)
      .where(
        and(eq(projects.key, project.key), eq(projects.organizationKey, organization.key), isNull(projects.deletedAt)),
      ),
    // Record the act first: after the change, it would look like a no-op, which isn't audited.
    recordAct(
      { database, organization },
      act,
      { action: 'error_type.change', targetId: id, projectKey: project.key },
      isChange,
    ),
    database
      .insert(projectErrorTypes)
      .select(
        selectFor(
          projectErrorTypes,
          {
            projectKey: project.key,
            errorType,
            id,
            name,
            category,
            rule,
            isEnabled: Number(isEnabled),
            createdAt: act.at,
          },
          sql`where ${isChange}`,
        ),
      )
      .onConflictDoUpdate({
        target: [projectErrorTypes.projectKey, projectErrorTypes.errorType],
        set: { name, category, rule, isEnabled },
      }),
  ])
  if (!guards) throw new Gone()
  if (!guards.hasOther) return 'last_enabled'
  return guards.hasRoom ? 'saved' : 'too_many'
}

/** The conditions for a change: another type remains enabled, the project isn't at the limit, and something changes. */
function changeConditions(
  project: Project,
  { errorType, own, isEnabled }: ErrorTypeDraft,
): Record<'hasOther' | 'hasRoom' | 'differs', SQL> {
  const { name, category, rule } = own ?? BUILT_IN
  const ofProject = sql`from ${projectErrorTypes} as of_project where of_project.project_key = ${project.key}`
  const isThis = sql`of_project.error_type = ${errorType}`
  const hasOther = isEnabled
    ? sql`true`
    : sql`(exists (select 1 ${ofProject} and not ${isThis} and of_project.is_enabled and of_project.name is not null)
        or exists (select 1 from ${errorTypes} as built_in where built_in.rowid > 0
          and built_in.error_type <> ${errorType} and not exists (select 1 ${ofProject}
            and of_project.error_type = built_in.error_type and not of_project.is_enabled)))`
  const hasRoom = own
    ? sql`(exists (select 1 ${ofProject} and ${isThis})
        or (select count(*) ${ofProject} and of_project.name is not null) < ${MAX_PROJECT_ERROR_TYPES})`
    : sql`true`
  // A built-in type without a row is enabled.
  const differs =
    own || !isEnabled
      ? sql`not exists (select 1 ${ofProject} and ${isThis} and of_project.name is ${name}
          and of_project.category is ${category} and of_project.rule is ${rule} and of_project.is_enabled = ${Number(isEnabled)})`
      : sql`exists (select 1 ${ofProject} and ${isThis} and not of_project.is_enabled)`
  return { hasOther, hasRoom, differs }
}

/** A built-in type's row has no definition, because the definition is in the taxonomy. */
const BUILT_IN = { name: null, category: null, rule: null }

/** The state of an error type in a project. */
export type ErrorTypeState = 'enabled' | 'disabled' | 'unknown'

/**
 * The queries for the state of these error types in the projects of some traces. Run them with `readPlain` and pass the
 * results to `errorTypeStateLookup`.
 */
export function errorTypeStateQueries({ database }: Store, names: readonly string[], traceKeys: SQL) {
  const named = sql`json_each(${JSON.stringify(names)}) as item`
  return [
    database
      .select({ errorType: sql<string>`${errorTypes.errorType}`.as('errorType') })
      .from(errorTypes)
      .where(sql`${errorTypes.errorType} in (select item.value from ${named})`),
    database
      .select({
        projectKey: sql<number>`${projectErrorTypes.projectKey}`.as('projectKey'),
        errorType: sql<string>`${projectErrorTypes.errorType}`.as('errorType'),
        isEnabled: sql<number>`${projectErrorTypes.isEnabled}`.as('isEnabled'),
      })
      .from(projectErrorTypes)
      .where(
        sql`(${projectErrorTypes.projectKey}, ${projectErrorTypes.errorType}) in (
          select ${traces.projectKey}, item.value from ${named} cross join ${traces} where ${traces.key} in ${traceKeys})`,
      ),
  ] as const
}

/** Returns a function that looks up an error type's state in a project, from the results of `errorTypeStateQueries`. */
export function errorTypeStateLookup(
  builtIn: readonly { errorType: string }[],
  rows: readonly { projectKey: number; errorType: string; isEnabled: number }[],
): (projectKey: number, errorType: string) => ErrorTypeState {
  const builtInTypes = new Set(builtIn.map(({ errorType }) => errorType))
  const isEnabledOf = new Map(
    rows.map(({ projectKey, errorType, isEnabled }) => [`${projectKey}/${errorType}`, isEnabled === 1]),
  )
  return (projectKey, errorType) => {
    const isEnabled = isEnabledOf.get(`${projectKey}/${errorType}`) ?? (builtInTypes.has(errorType) || undefined)
    if (isEnabled === undefined) return 'unknown'
    return isEnabled ? 'enabled' : 'disabled'
  }
}
