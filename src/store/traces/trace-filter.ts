import { and, eq, gte, isNotNull, lt, lte, type SQL, sql } from 'drizzle-orm'
import type { SelectedFields, SQLiteSelectBuilder } from 'drizzle-orm/sqlite-core'
import type { SearchableField } from '../../domain/metadata.ts'
import type { TraceReviewState } from '../../domain/review-state.ts'
import type { SoughtText } from '../../domain/text-search.ts'
import type { TraceStatus } from '../../domain/trace-status.ts'
import { PROBED_TRACES } from '../../limits.ts'
import type { Project } from '../accounts/projects.ts'
import { ASSIGNED, assignedTraces } from '../core/assignees.ts'
import { existsShallow, shallow } from '../core/depth.ts'
import { isNegativeTo, isPositive } from '../core/ratings.ts'
import { hasReviewedSpan, isCorrected } from '../core/reviewable.ts'
import { isOneOf, rowSet } from '../core/rows.ts'
import { isStep } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { isAnswerHidden, isAnswerShown, isCommentShown } from '../core/veil.ts'
import { attributionJobs } from '../schema/attribution.ts'
import { feedback, reviews } from '../schema/reviews.ts'
import { isNotRoot, spans } from '../schema/spans.ts'
import { isNegative, isRunning, traceFields, traces } from '../schema/traces.ts'
import { type AnswerFilter, asksForAnswer, isAnswered } from './answered-traces.ts'
import { isLiveIn } from './live.ts'

/** Conditions on listed traces. Undefined fields don't filter. */
export interface TraceFilter extends AnswerFilter {
  id?: string | undefined
  name?: string | undefined
  /** Only lists of traces support this. They turn it into `keys`. */
  nameContains?: SoughtText | undefined
  status?: TraceStatus | undefined
  /** Inclusive. */
  from?: number | undefined
  /** Exclusive. */
  to?: number | undefined
  /** Has a span of this step, by its old or new name. */
  stepId?: string | undefined
  /** Has a span that used this prompt version. */
  promptVersionId?: string | undefined
  hasFeedback?: boolean | undefined
  rating?: 'positive' | 'negative' | undefined
  review?: TraceReviewState | undefined
  /** Matches the type that reviewers chose or, if they chose none, the type of the engine's last answer. */
  errorType?: string | undefined
  /** `all` includes traces that have only generic spans, which aren't steps of an AI pipeline. */
  kind?: 'all' | undefined
  /** Has spans that are assigned to this user. */
  assigneeId?: string | undefined
  /** Only traces with these keys match. */
  keys?: readonly number[] | undefined
  /** Metadata fields, which must all match. */
  fields: readonly SearchableField[]
}

/** A position in a list, newest first. A page starts after it. */
export interface TracePosition {
  timestamp: number
  id: string
}

/** Compares positions in a list of traces, newest first. */
export const newestFirst = (left: TracePosition, right: TracePosition): number =>
  right.timestamp - left.timestamp || (left.id < right.id ? 1 : left.id > right.id ? -1 : 0)

/**
 * How to read a project's traces in the filter's time range: the tables, the `time` column to order by, and the
 * condition. If there's an assignee, the search starts from the assignments. Otherwise, if there are metadata filters,
 * it starts from one of the filtered fields. If there's neither, `sought` may be a condition that has an index in time
 * order. `more` adds conditions on the time column.
 */
export function inProject(
  store: Store,
  project: Project,
  filter: TraceFilter,
  sought: SQL | undefined,
  more: (time: Time) => SQL | undefined,
) {
  const { assigneeId } = filter
  const driver = assigneeId === undefined ? drivingField(project, filter.fields) : undefined
  const time = driver ? traceFields.timestamp : traces.timestamp
  const where = isLiveIn(
    store,
    project,
    driver
      ? sql`${traceFields.projectKey} = ${project.key} and ${traceFields.path} = ${driver.path}
          and ${traceFields.value} = ${driver.value} and ${traces.key} = ${traceFields.traceKey}`
      : assigneeId === undefined
        ? sought
        : sql`${traces.key} = ${ASSIGNED.traceKey}`,
    filter.from === undefined ? undefined : gte(time, filter.from),
    filter.to === undefined ? undefined : lt(time, filter.to),
    more(time),
  )
  /** A cross join fixes the order of the tables, because SQLite has no statistics to choose one. */
  const from = <Columns extends SelectedFields>(query: SQLiteSelectBuilder<Columns, 'async', D1Result, 'db'>) => {
    if (assigneeId !== undefined) return query.from(assignedTraces(project.key, assigneeId)).crossJoin(traces)
    return driver ? query.from(traceFields).crossJoin(traces) : query.from(traces)
  }
  return { from, time, where }
}

/** The column that orders traces. */
export type Time = typeof traceFields.timestamp | typeof traces.timestamp

/** Compares a trace's position with another. The separate condition on time lets SQLite seek in an index. */
export const positionIs = (time: Time, relation: '<' | '<=' | '>' | '>=', { timestamp, id }: TracePosition): SQL => {
  const bound = relation.startsWith('<') ? lte(time, timestamp) : gte(time, timestamp)
  return sql`(${bound} and (${traces.timestamp}, ${traces.id}) ${sql.raw(relation)} (${timestamp}, ${id}))`
}

/**
 * The condition to search by if there are no metadata filters: that the trace has the filter's id, is in flight, has a
 * negative rating, or has the filter's name. Few traces are in flight or have a negative rating. Each condition has an
 * index in time order.
 */
export function indexedCondition({ id, name, status, rating }: TraceFilter): SQL | undefined {
  if (id !== undefined) return eq(traces.id, id)
  if (status === 'running') return isRunning
  if (rating === 'negative') return isNegative
  return name === undefined ? undefined : eq(traces.name, name)
}

/**
 * The metadata field to start a search from. It's the field that the fewest traces have, based on a bounded count for
 * each field. If all fields are common, it's the conversation's id or, if that isn't among them, the field with the
 * longest value.
 */
function drivingField(project: Project, fields: readonly SearchableField[]): Record<'path' | 'value', SQL> | undefined {
  const ordered = fields.toSorted((left, right) => likelySelectivity(right) - likelySelectivity(left))
  const [first] = ordered
  if (!first) return undefined
  if (ordered.length === 1) return { path: sql`${first.path}`, value: sql`${first.value}` }
  const count = sql`(select count(*) from (select 1 from ${traceFields} probed
    where probed.project_key = ${project.key} and probed.path = ${FIELDS.row.path} and probed.value = ${FIELDS.row.value}
    limit ${PROBED_TRACES}))`
  const rarest = (column: SQL) =>
    sql`(select ${column} from ${fieldsFrom(ordered)} order by ${count}, item.key limit 1)`
  return { path: rarest(FIELDS.row.path), value: rarest(FIELDS.row.value) }
}

const FIELDS = rowSet(['path', 'value'])
const fieldsFrom = (fields: readonly SearchableField[]): SQL =>
  FIELDS.from(FIELDS.encodeAll(fields.map(({ path, value }) => ({ path, value }))))

const likelySelectivity = ({ path, value }: SearchableField): number =>
  path === 'group_id' ? Number.POSITIVE_INFINITY : value.length

/** The filter's conditions besides project and time. Undefined if there are none. */
export function matches(store: Store, project: Project, filter: TraceFilter): SQL | undefined {
  const { id, name, status, stepId, promptVersionId, hasFeedback, rating, review, errorType, kind, keys, fields } =
    filter
  return and(
    id === undefined ? undefined : eq(traces.id, id),
    kind === 'all' || id !== undefined || asksForAnswer(filter) ? undefined : isListedByDefault(store),
    name === undefined ? undefined : eq(traces.name, name),
    status && eq(traces.status, status),
    stepId === undefined
      ? undefined
      : sql`(${isRootStep(project, stepId)} or exists (select 1 from ${spans}
          where ${spans.traceKey} = ${traces.key} and ${isNotRoot} and ${isStep(project.key, spans.stepId, stepId)}))`,
    promptVersionId === undefined
      ? undefined
      : sql`(exists (select 1 from ${spans} where ${spans.traceKey} = ${traces.key} and ${isNotRoot}
            and ${spans.promptVersionId} = ${promptVersionId})
          or exists (select 1 from ${spans} where ${spans.id} = ${traces.rootSpanId}
            and ${spans.traceKey} = ${traces.key} and ${spans.promptVersionId} = ${promptVersionId}))`,
    hasFeedback === undefined ? undefined : sql`${feedbackOf(store)} = ${hasFeedback ? 1 : 0}`,
    rating === 'positive' ? feedbackOf(store, isPositive) : undefined,
    rating === 'negative' ? isNegativeTo(store) : undefined,
    review && REVIEWED[review],
    errorType === undefined ? undefined : shallow(hasErrorType(store, errorType)),
    keys && isOneOf(traces.key, keys),
    isAnswered(store, project, filter),
    // If there's only one field and the search starts from it, every trace that's read has that field.
    fields.length > (filter.assigneeId === undefined ? 1 : 0) ? hasFields(project, fields) : undefined,
  )
}

/** Whether lists show a trace by default: it has a step of an AI pipeline, or feedback. */
const isListedByDefault = (store: Store): SQL => sql`(${traces.isGeneric} = 0 or ${feedbackOf(store)})`

/** Whether a trace's root has a given step. If a client posted the trace, the root's step is the trace's name. */
const isRootStep = ({ key }: Project, stepId: string): SQL => {
  const rootStep = sql`iif(${traces.isPosted} = 1, ${traces.name}, (
    select ${spans.stepId} from ${spans} where ${spans.id} = ${traces.rootSpanId} and ${spans.traceKey} = ${traces.key}))`
  return sql`coalesce(${isStep(key, rootStep, stepId)}, 0)`
}

/** Whether a trace has feedback that the viewer may see, optionally of this kind. */
const feedbackOf = (store: Store, kind?: SQL): SQL =>
  existsShallow(
    sql`select 1 from ${feedback} where ${and(eq(feedback.traceKey, traces.key), kind, isCommentShown(store))}`,
  )

/** The same conditions as `traceReviewState`. */
const REVIEWED: Record<TraceReviewState, SQL> = {
  unreviewed: sql`not ${hasReviewedSpan()}`,
  accepted: sql`(${traces.needsReview} = 0 and ${hasReviewedSpan()} and not ${hasReviewedSpan(isCorrected)})`,
  corrected: sql`(${traces.needsReview} = 0 and ${hasReviewedSpan(isCorrected)})`,
  mixed: sql`(${traces.needsReview} <> 0 and ${hasReviewedSpan()})`,
}

/**
 * Whether a trace has this error type, according to the current decisions or, if they don't name one, the engine's last
 * answer. That answer stays valid if its job runs again or fails.
 */
const hasErrorType = (store: Store, errorType: string): SQL => sql`(
  (exists (select 1 from ${attributionJobs} where ${attributionJobs.traceKey} = ${traces.key}
      and ${attributionJobs.errorType} = ${errorType})
    and ${and(sql`not ${namesErrorType(isNotNull(reviews.errorType))}`, isAnswerShown(store))})
  or ${namesErrorType(eq(reviews.errorType, errorType))})`

/** The current decisions on a trace's spans that meet the condition `which`. */
const decisionsInForce = (which: SQL): SQL => sql`${spans} cross join ${reviews}
  where ${spans.traceKey} = ${traces.key} and ${isNotNull(spans.reviewState)}
    and ${reviews.traceKey} = ${spans.traceKey} and ${reviews.spanId} = ${spans.id}
    and ${reviews.number} = ${spans.reviewNumber} and ${which}`

const namesErrorType = (which: SQL): SQL => sql`exists (select 1 from ${decisionsInForce(which)})`

/**
 * The current trace's error types, by which `hasErrorType` finds it. If several decisions name one, the newest decision
 * counts.
 */
export const errorTypeColumns = (store: Store) => ({
  reviewersType: sql<string | null>`(
    select ${reviews.errorType} from ${decisionsInForce(isNotNull(reviews.errorType))}
    order by ${reviews.createdAt} desc, ${reviews.spanId} desc limit 1)`.as('reviewersType'),
  enginesType: sql<string | null>`iif(${isAnswerHidden(store) ?? sql`0`}, null, (
    select ${attributionJobs.errorType} from ${attributionJobs}
    where ${attributionJobs.traceKey} = ${traces.key}))`.as('enginesType'),
})

/**
 * Whether a trace has all these fields. Each takes one seek in the primary key. They share one parameter, because a
 * statement can have at most 100 parameters.
 */
export const hasFields = (project: Project, fields: readonly SearchableField[]): SQL =>
  sql`not exists (select 1 from ${fieldsFrom(fields)}
    where not exists (select 1 from ${traceFields} other
      where other.project_key = ${project.key} and other.path = ${FIELDS.row.path} and other.value = ${FIELDS.row.value}
        and other.timestamp = ${traces.timestamp} and other.trace_key = ${traces.key}))`
