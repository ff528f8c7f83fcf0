import { and, desc, eq, isNotNull, type SQL, sql } from 'drizzle-orm'
import type { SelectResultFields } from 'drizzle-orm/query-builders/select.types'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import type { Alternative, AttributionCost, ErrorCategory, Evidence } from '../../domain/attribution.ts'
import { named, readPlain } from '../core/database.ts'
import { isNotPraise } from '../core/ratings.ts'
import { hasReviewedSpan, isCorrected } from '../core/reviewable.ts'
import type { Store } from '../core/store.ts'
import { isAnswerHidden, isCommentShown } from '../core/veil.ts'
import { attributionJobs, attributions, errorTypes, projectErrorTypes } from '../schema/attribution.ts'
import { feedback, reviews } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { isLive } from '../traces/live.ts'
import { type AttributionStatus, hasLiveTrace, isJob } from './jobs.ts'

/** An error type as shown in results. */
export interface NamedErrorType {
  errorType: string
  id: string
  name: string
  category: ErrorCategory
}

/** The error type that a reviewer named, which overrides the engine's. */
export interface AttributionOverride extends NamedErrorType {
  spanId: string
  userId: string
  comment: string | null
  createdAt: number
}

/** An engine's answer, and a reviewer's override. */
export interface AttributionResult {
  id: string
  createdAt: number
  /** The engine's answer. */
  answer: NamedErrorType
  confidence: number
  alternatives: readonly Alternative[]
  /** The blamed span, or null. */
  spanId: string | null
  reasoning: string
  evidence: readonly Evidence[]
  engine: string
  cost: AttributionCost
  /** The newest current decision on the trace's spans that names an error type. */
  override: AttributionOverride | null
}

/** The state of a trace's attribution. */
export interface AttributionState {
  traceKey: number
  /** Whether there is anything to attribute. */
  hasFeedback: boolean
  /**
   * Whether the attribution is hidden from the viewer. If so, the other fields look as if it had never been requested.
   */
  isHidden: boolean
  /** Null if it was never requested. */
  status: AttributionStatus | null
  /** Why it failed, or null. */
  failure: string | null
  /**
   * When a pending job may run, if it's waiting because the project has used up its model calls for the day. Otherwise
   * null.
   */
  waitsUntil: number | null
  /** The last result. A pending or failed job may have one as well. */
  result: AttributionResult | null
}

/**
 * Whether a trace has feedback to attribute that the viewer may see. Praise alone doesn't count. Must agree with
 * `isDisputed` in `attribution/run.ts`.
 */
export const hasFeedback = (store: Store): SQL =>
  sql`(exists (select 1 from ${feedback} where ${and(
    eq(feedback.traceKey, traces.key),
    sql`(${isNotPraise} or ${feedback.comment} <> '' or ${feedback.correction} is not null)`,
    isCommentShown(store),
  )}) or ${hasReviewedSpan(isCorrected)})`

/** Finds the state of a trace's attribution, by the trace's id or key. Undefined if there is no such trace. */
export async function findAttribution(
  store: Store,
  trace: { id: string } | { key: number },
): Promise<AttributionState | undefined> {
  const ofTrace = isLive(store, 'id' in trace ? eq(traces.id, trace.id) : eq(traces.key, trace.key))
  return toAttributionState(await readPlain(store.database, attributionStateQueries(store, ofTrace)))
}

/** Reads the fields to poll while waiting for a job. Undefined if there is no such job or its trace is gone. */
export async function findJobStatus(
  store: Store,
  traceKey: number,
): Promise<{ status: AttributionStatus; leaseUntil: number | null; waitsUntil: number | null } | undefined> {
  const [job] = await store.database
    .select({
      status: attributionJobs.status,
      leaseUntil: attributionJobs.leaseUntil,
      waitsUntil: attributionJobs.waitsUntil,
    })
    .from(attributionJobs)
    .where(isJob(store, traceKey, hasLiveTrace(store)))
  return job
}

/** The fields of an error type in a result: the project's own definition, or else the built-in one. */
function typeFields(errorType: SQLiteColumn, projectKey: SQLiteColumn) {
  const field = (column: 'id' | 'name' | 'category') => sql`coalesce(
    (select own.${sql.raw(column)} from ${projectErrorTypes} own
      where own.project_key = ${projectKey} and own.error_type = ${errorType}),
    (select built_in.${sql.raw(column)} from ${errorTypes} built_in where built_in.error_type = ${errorType}))`
  return {
    errorType: sql<string>`${errorType}`.as('errorType'),
    typeId: sql<string>`${field('id')}`.as('typeId'),
    typeName: sql<string>`${field('name')}`.as('typeName'),
    typeCategory: sql<ErrorCategory>`${field('category')}`.as('typeCategory'),
  }
}

const headFields = (store: Store) => ({
  traceKey: sql<number>`${traces.key}`.as('traceKey'),
  hasFeedback: sql<number>`${hasFeedback(store)}`.as('hasFeedback'),
  isHidden: sql<number>`${isAnswerHidden(store) ?? sql`0`}`.as('isHidden'),
  status: sql<AttributionStatus | null>`${attributionJobs.status}`.as('status'),
  failure: sql<string | null>`${attributionJobs.failure}`.as('failure'),
  waitsUntil: sql<number | null>`${attributionJobs.waitsUntil}`.as('waitsUntil'),
})

const resultFields = {
  ...named({
    id: attributions.id,
    createdAt: attributions.createdAt,
    confidence: attributions.confidence,
    spanId: attributions.spanId,
    reasoning: attributions.reasoning,
    engine: attributions.engine,
    durationMs: attributions.durationMs,
    inputTokens: attributions.inputTokens,
    outputTokens: attributions.outputTokens,
    costUsd: attributions.costUsd,
  }),
  ...typeFields(attributions.errorType, attributions.projectKey),
  alternatives: sql<string>`${attributions.alternatives}`.as('alternatives'),
  evidence: sql<string>`${attributions.evidence}`.as('evidence'),
}

const overrideFields = {
  ...named({
    spanId: reviews.spanId,
    userId: reviews.userId,
    comment: reviews.comment,
    createdAt: reviews.createdAt,
  }),
  ...typeFields(reviews.errorType, reviews.projectKey),
}

/** The queries for the state of a trace's attribution, for `toAttributionState`. */
export function attributionStateQueries(store: Store, ofTrace: SQL | undefined) {
  const { database } = store
  const traceKey = sql`(select ${traces.key} from ${traces} where ${ofTrace})`
  return [
    database
      .select(headFields(store))
      .from(traces)
      .leftJoin(attributionJobs, eq(attributionJobs.traceKey, traces.key))
      .where(ofTrace),
    database
      .select(resultFields)
      .from(attributionJobs)
      .crossJoin(attributions)
      .where(
        and(
          eq(attributionJobs.traceKey, traceKey),
          eq(attributions.traceKey, attributionJobs.traceKey),
          eq(attributions.number, attributionJobs.attributionNumber),
        ),
      ),
    database
      .select(overrideFields)
      .from(spans)
      .crossJoin(reviews)
      .where(
        and(
          eq(spans.traceKey, traceKey),
          isNotNull(spans.reviewState),
          eq(reviews.traceKey, spans.traceKey),
          eq(reviews.spanId, spans.id),
          eq(reviews.number, spans.reviewNumber),
          isNotNull(reviews.errorType),
        ),
      )
      .orderBy(desc(reviews.createdAt), desc(reviews.spanId))
      .limit(1),
  ] as const
}

type StateRows = readonly [
  head: readonly SelectResultFields<ReturnType<typeof headFields>>[],
  result: readonly SelectResultFields<typeof resultFields>[],
  override: readonly SelectResultFields<typeof overrideFields>[],
]

export function toAttributionState([[head], [result], [override]]: StateRows): AttributionState | undefined {
  if (!head) return undefined
  const { traceKey } = head
  const hasFeedback = head.hasFeedback === 1
  if (head.isHidden === 1) return { traceKey, hasFeedback, isHidden: true, ...NOTHING_KNOWN }
  const { status, failure, waitsUntil } = head
  const known = { status, failure, waitsUntil, result: result ? resultOf(result, override) : null }
  return { traceKey, hasFeedback, isHidden: false, ...known }
}

const NOTHING_KNOWN = { status: null, failure: null, waitsUntil: null, result: null }

function resultOf(row: StateRows[1][number], override: StateRows[2][number] | undefined): AttributionResult {
  const { id, createdAt, confidence, spanId, reasoning, engine } = row
  const { durationMs, inputTokens, outputTokens, costUsd } = row
  return {
    id,
    createdAt,
    answer: typeOf(row),
    confidence,
    alternatives: JSON.parse(row.alternatives),
    spanId,
    reasoning,
    evidence: JSON.parse(row.evidence),
    engine,
    cost: { durationMs, inputTokens, outputTokens, costUsd },
    override: override ? overrideOf(override) : null,
  }
}

function overrideOf(row: StateRows[2][number]): AttributionOverride {
  const { spanId, userId, comment, createdAt } = row
  return { ...typeOf(row), spanId, userId, comment, createdAt }
}

const typeOf = ({
  errorType,
  typeId,
  typeName,
  typeCategory,
}: SelectResultFields<ReturnType<typeof typeFields>>): NamedErrorType => ({
  errorType,
  id: typeId,
  name: typeName,
  category: typeCategory,
})
