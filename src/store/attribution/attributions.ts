import { and, asc, desc, eq, gt, gte, inArray, isNotNull, lte, type SQL, sql } from 'drizzle-orm'
import type { SelectResultFields } from 'drizzle-orm/query-builders/select.types'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import type {
  Alternative,
  ATTRIBUTION_STATUSES,
  Attribution,
  AttributionCost,
  ErrorCategory,
  Evidence,
} from '../../domain/attribution.ts'
import type { Job } from '../../env.ts'
import { ATTRIBUTION_LEASE_MS, MAX_ATTRIBUTION_ATTEMPTS, RESEND_AFTER_MS } from '../../limits.ts'
import { named, readPlain } from '../core/database.ts'
import { isNoPraise } from '../core/ratings.ts'
import { hasReviewed, isCorrected } from '../core/reviewable.ts'
import { selectFor } from '../core/rows.ts'
import type { Store, UnscopedStore } from '../core/store.ts'
import { countAnswer } from '../counts/review-days.ts'
import { projects } from '../schema/accounts.ts'
import { attributionJobs, attributions, errorTypes, projectErrorTypes } from '../schema/attribution.ts'
import { feedback, reviews } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { isLive } from '../traces/traces.ts'

/*
 * The jobs that analyze disagreements, and their results. A job's row is the truth about what is to be done; messages only
 * say where to look. Whoever works on a job holds a lease of it by a token, and without that token writes nothing.
 */

export type AttributionStatus = (typeof ATTRIBUTION_STATUSES)[number]

/** An error type as a result names it. */
export interface NamedErrorType {
  errorType: string
  id: string
  name: string
  category: ErrorCategory
}

/** The error type that a reviewer named, which overrules the engine's. */
export interface AttributionOverride extends NamedErrorType {
  spanId: string
  userId: string
  comment: string | null
  createdAt: number
}

/** What an engine answered, and what a reviewer made of it. */
export interface AttributionResult {
  id: string
  createdAt: number
  /** The engine's answer. */
  answer: NamedErrorType
  confidence: number
  alternatives: readonly Alternative[]
  /** The blamed span; null: none. */
  spanId: string | null
  reasoning: string
  evidence: readonly Evidence[]
  engine: string
  cost: AttributionCost
  /** The newest among the decisions in force on the trace's spans that names an error type. */
  override: AttributionOverride | null
}

/** How far the analysis of a trace is. */
export interface AttributionState {
  traceKey: number
  /** Whether there is anything to analyze. */
  hasFeedback: boolean
  /** Null: nobody ever asked. */
  status: AttributionStatus | null
  /** Why it failed, where it did. */
  failure: string | null
  /** Until when a pending job waits, since the project's model calls of the day are used up; null: for nothing. */
  waitsUntil: number | null
  /** The last result, which a job that is pending or failed may have, too. */
  result: AttributionResult | null
}

/** Whether a trace has something to analyze, which praise alone is not; `isDisputed` in `attribution/run.ts` says the same. */
const hasFeedback = sql`(exists (select 1 from ${feedback} where ${feedback.traceKey} = ${traces.key}
    and (${isNoPraise} or ${feedback.comment} <> '' or ${feedback.correction} is not null))
  or ${hasReviewed(isCorrected)})`

/** Whether a trace's project has disagreements analyzed without being asked. */
const isAutomatic = sql`exists (
  select 1 from ${projects} where ${projects.key} = ${traces.projectKey} and ${projects.autoAttribute} = 1)`

/**
 * A text that is another one once there is anything new on a trace: of feedback given, changed or deleted, decisions,
 * observations, spans and metadata. Columns are written out, for drizzle drops their table's name from some selections.
 */
const currentBasis = sql<string>`(traces.revision || '/' || traces.updated_at
  || (select '/' || count(*) || '/' || coalesce(max(observed.received_at), 0)
      from observations observed where observed.trace_key = traces.key)
  || (select '/' || count(*) || '/' || coalesce(sum(coalesce(octet_length(given.comment), 0)
      + coalesce(octet_length(given.correction), 0) + coalesce(octet_length(given.rating), 0)), 0)
      from feedback given where given.trace_key = traces.key)
  || (select '/' || count(*) from reviews decided where decided.trace_key = traces.key))`

const isPending = sql`${attributionJobs.status} = 'pending'`

/**
 * The statement that asks for the analysis of traces. A job that is pending takes the request in; one that is through begins
 * anew if there is anything new, or by force. Run twice, it asks once more, which costs at most a look. Returns the keys of
 * the traces whose jobs are pending by it.
 */
const requestJobs = ({ database }: Store, ofTraces: SQL | undefined, at: number, force: boolean) => {
  const now = Math.floor(at)
  const unlessPending = (column: SQLiteColumn, value: SQL) => sql`iif(${isPending}, ${column}, ${value})`
  const jobBasis = sql`(select ${currentBasis} from traces where traces.key = ${attributionJobs.traceKey})`
  // A forced request whose reply was lost must not run again what it has run already.
  const isForced = force ? sql`${attributionJobs.requestedAt} <> ${now}` : sql`false`
  return database
    .insert(attributionJobs)
    .select(
      selectFor(
        attributionJobs,
        {
          traceKey: traces.key,
          organizationKey: traces.organizationKey,
          projectKey: traces.projectKey,
          status: 'pending',
          requests: 1,
          requestedAt: now,
          attempts: 0,
          leaseToken: null,
          leaseUntil: null,
          dueAt: now + RESEND_AFTER_MS,
          waitsUntil: null,
          failure: null,
          basis: null,
          attributionNumber: 0,
          errorType: null,
        },
        sql`from ${traces} where ${ofTraces}`,
      ),
    )
    .onConflictDoUpdate({
      target: attributionJobs.traceKey,
      set: {
        status: 'pending',
        requests: sql`${attributionJobs.requests} + 1`,
        requestedAt: now,
        attempts: unlessPending(attributionJobs.attempts, sql`0`),
        dueAt: unlessPending(attributionJobs.dueAt, sql`excluded.due_at`),
        failure: unlessPending(attributionJobs.failure, sql`null`),
        // By force it is tried at once: the limit may be another one now.
        waitsUntil: force ? null : unlessPending(attributionJobs.waitsUntil, sql`null`),
        // What a run finds in there it need not do again.
        ...(force && { basis: unlessPending(attributionJobs.basis, sql`null`) }),
      },
      setWhere: sql`${attributionJobs.status} <> 'done' or ${attributionJobs.basis} is not ${jobBasis} or ${isForced}`,
    })
    .returning({ traceKey: attributionJobs.traceKey })
}

/** The same for those of some traces whose projects have it done without being asked, for the batch of what gave the reason. */
export const requestAutomaticJobs = (store: Store, ofTraces: SQL, at: number) =>
  requestJobs(store, isLive(store, ofTraces, isAutomatic), at, false)

/** The messages that say of which traces the analysis was asked for. */
export const attributionJobsOf = ({ organization }: Store, traceKeys: Iterable<number>): Job[] =>
  Array.from(traceKeys, traceKey => ({ kind: 'attribute_trace', organizationKey: organization.key, traceKey }))

/**
 * Asks for the analysis of a trace. Where the last result went by all that there is, that one stands and nothing is written,
 * unless by `force`. Returns how far it is; undefined where there is no such trace. One round trip.
 */
export async function requestAttribution(
  store: Store,
  traceUuid: string,
  { force, now }: { force: boolean; now: number },
): Promise<AttributionState | undefined> {
  const ofTrace = isLive(store, eq(traces.id, traceUuid))
  const request = requestJobs(store, and(ofTrace, hasFeedback), now, force)
  const [, ...rows] = await readPlain(store.database, [request, ...stateQueries(store, ofTrace)])
  return stateOf(rows)
}

/** How far the analysis of a trace is, by the trace's id or by its key. Undefined where there is no such trace. */
export async function findAttribution(
  store: Store,
  trace: { id: string } | { key: number },
): Promise<AttributionState | undefined> {
  const ofTrace = isLive(store, 'id' in trace ? eq(traces.id, trace.id) : eq(traces.key, trace.key))
  return stateOf(await readPlain(store.database, stateQueries(store, ofTrace)))
}

/** What one who waits for a job looks at, again and again. Undefined where there is no such job, or its trace is gone. */
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

/** What a result shows of an error type: as the project calls it, or as it is built in. */
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

const headFields = {
  traceKey: sql<number>`${traces.key}`.as('traceKey'),
  hasFeedback: sql<number>`${hasFeedback}`.as('hasFeedback'),
  status: sql<AttributionStatus | null>`${attributionJobs.status}`.as('status'),
  failure: sql<string | null>`${attributionJobs.failure}`.as('failure'),
  waitsUntil: sql<number | null>`${attributionJobs.waitsUntil}`.as('waitsUntil'),
}

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

/** The queries that tell how far the analysis of one trace is, for `stateOf`. */
function stateQueries({ database }: Store, ofTrace: SQL | undefined) {
  const traceKey = sql`(select ${traces.key} from ${traces} where ${ofTrace})`
  return [
    database
      .select(headFields)
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
      .orderBy(desc(reviews.createdAt), desc(reviews.id))
      .limit(1),
  ] as const
}

type StateRows = readonly [
  head: readonly SelectResultFields<typeof headFields>[],
  result: readonly SelectResultFields<typeof resultFields>[],
  override: readonly SelectResultFields<typeof overrideFields>[],
]

function stateOf([[head], [result], [override]]: StateRows): AttributionState | undefined {
  if (!head) return undefined
  return {
    ...head,
    hasFeedback: head.hasFeedback === 1,
    result: result ? resultOf(result, override) : null,
  }
}

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

/** A job that is being worked on. */
export interface Claim {
  traceKey: number
  projectKey: number
  token: string
  /** How many requests there were when it was claimed. */
  requests: number
  /** What the trace came to then, and what the last result went by. */
  basis: string
  basisBefore: string | null
}

/** A job of the store. */
const isJob = ({ organization }: Store, traceKey: number, ...conditions: SQL[]) =>
  and(eq(attributionJobs.traceKey, traceKey), eq(attributionJobs.organizationKey, organization.key), ...conditions)

const isFree = (now: number) => sql`(${attributionJobs.leaseUntil} is null or ${attributionJobs.leaseUntil} <= ${now})`
/** A job that waits for the next day is no less free, but is not to be claimed. */
const isWaiting = (now: number) => sql`coalesce(${attributionJobs.waitsUntil}, 0) > ${now}`
const isHeld = (token: string) => sql`${attributionJobs.leaseToken} is ${token}`

/** Whether a job's trace is there still. */
const hasLiveTrace = (store: Store) =>
  sql`exists (select 1 from ${traces} where ${isLive(store, eq(traces.key, attributionJobs.traceKey))})`

const NO_LEASE = { leaseToken: null, leaseUntil: null }
const CUT_OFF = 'The analysis was cut off in every attempt'

/**
 * Claims a pending job that nobody works on, for `ATTRIBUTION_LEASE_MS` from `now`. Undefined where there is none, its trace
 * is gone, or it was claimed too often: then it has failed.
 */
export async function claimAttribution(
  store: Store,
  traceKey: number,
  { token, now }: { token: string; now: number },
): Promise<Claim | undefined> {
  const { database } = store
  const isSpent = gte(attributionJobs.attempts, MAX_ATTRIBUTION_ATTEMPTS)
  const leaseUntil = now + ATTRIBUTION_LEASE_MS
  const [, , [claim]] = await readPlain(database, [
    database
      .update(attributionJobs)
      .set({
        ...NO_LEASE,
        status: 'failed',
        failure: sql`coalesce(${attributionJobs.failure}, ${CUT_OFF})`,
        dueAt: null,
      })
      .where(isJob(store, traceKey, isPending, isFree(now), sql`not ${isWaiting(now)}`, isSpent))
      .returning({ traceKey: attributionJobs.traceKey }),
    database
      .update(attributionJobs)
      .set({
        leaseToken: token,
        leaseUntil,
        dueAt: leaseUntil,
        attempts: sql`${attributionJobs.attempts} + 1`,
        waitsUntil: null,
      })
      .where(isJob(store, traceKey, isPending, isFree(now), sql`not ${isWaiting(now)}`, hasLiveTrace(store)))
      .returning({ traceKey: attributionJobs.traceKey }),
    database
      .select({
        traceKey: sql<number>`${traces.key}`.as('traceKey'),
        projectKey: sql<number>`${traces.projectKey}`.as('projectKey'),
        token: sql<string>`${attributionJobs.leaseToken}`.as('token'),
        requests: sql<number>`${attributionJobs.requests}`.as('requests'),
        basis: sql<string>`${currentBasis}`.as('basis'),
        basisBefore: sql<string | null>`${attributionJobs.basis}`.as('basisBefore'),
      })
      .from(attributionJobs)
      .crossJoin(traces)
      .where(and(isJob(store, traceKey, isPending, isHeld(token)), isLive(store, eq(traces.key, traceKey)))),
  ])
  return claim
}

/** Holds a job for `ATTRIBUTION_LEASE_MS` more. False where it is held no longer. */
export async function renewLease(store: Store, { traceKey, token }: Claim, now: number): Promise<boolean> {
  const leaseUntil = now + ATTRIBUTION_LEASE_MS
  const rows = await store.database
    .update(attributionJobs)
    .set({ leaseUntil, dueAt: leaseUntil })
    .where(isJob(store, traceKey, isPending, isHeld(token)))
    .returning({ traceKey: attributionJobs.traceKey })
  return rows.length > 0
}

/** An engine's answer; `id` is chosen by the caller, so that a repeated attempt makes no second result. */
export interface AttributionDraft {
  id: string
  attribution: Attribution
  cost: AttributionCost
}

/**
 * Ends a run with its result; nothing happens where the job is held no longer or its trace is gone. Returns what the job is
 * then: `pending` where it was asked for since it was claimed; undefined where it is gone.
 */
export async function finishAttribution(
  store: Store,
  claim: Claim,
  draft: AttributionDraft,
  now: number,
): Promise<AttributionStatus | undefined> {
  const { database } = store
  const [, , , [job]] = await readPlain(database, [
    database
      .insert(attributions)
      .select(
        selectFor(attributions, resultColumns(draft, now), sql`from ${attributionJobs} where ${isOurs(store, claim)}`),
      )
      .onConflictDoNothing()
      .returning({ id: attributions.id }),
    // While the job is held still: tried again after a lost answer, it counts nothing.
    countAnswer(store, isOurs(store, claim)),
    completion(store, claim, now, {
      attributionNumber: sql`${attributionJobs.attributionNumber} + 1`,
      errorType: draft.attribution.errorType,
    }),
    statusQuery(store, claim.traceKey),
  ])
  return job?.status
}

/** Ends a run that found nothing new: the last result stands. Returns as `finishAttribution`. */
export async function settleAttribution(
  store: Store,
  claim: Claim,
  now: number,
): Promise<AttributionStatus | undefined> {
  const [, [job]] = await readPlain(store.database, [completion(store, claim, now), statusQuery(store, claim.traceKey)])
  return job?.status
}

const isOurs = (store: Store, { traceKey, token }: Claim) =>
  isJob(store, traceKey, isPending, isHeld(token), hasLiveTrace(store))

/** The statement that has a job done, or begin anew where it was asked for since it was claimed. */
function completion(
  store: Store,
  claim: Claim,
  now: number,
  result: { attributionNumber?: SQL; errorType?: string } = {},
) {
  const isAnswered = sql`${attributionJobs.requests} = ${claim.requests}`
  return store.database
    .update(attributionJobs)
    .set({
      ...NO_LEASE,
      status: sql`iif(${isAnswered}, 'done', 'pending')`,
      dueAt: sql`iif(${isAnswered}, null, ${now})`,
      attempts: 0,
      failure: null,
      basis: claim.basis,
      ...result,
    })
    .where(isOurs(store, claim))
    .returning({ traceKey: attributionJobs.traceKey })
}

/** What is stored of a result, for the job that a statement is at. */
const resultColumns = ({ id, attribution, cost }: AttributionDraft, now: number) => ({
  ...cost,
  traceKey: attributionJobs.traceKey,
  number: sql`${attributionJobs.attributionNumber} + 1`,
  id,
  projectKey: attributionJobs.projectKey,
  createdAt: now,
  errorType: attribution.errorType,
  confidence: attribution.confidence,
  spanId: attribution.spanId,
  reasoning: attribution.reasoning,
  alternatives: JSON.stringify(attribution.alternatives),
  evidence: JSON.stringify(attribution.evidence),
  engine: attribution.engine,
  stepId: sql`coalesce((select blamed.step_id from ${spans} blamed
    where blamed.id = ${attribution.spanId} and blamed.trace_key = ${attributionJobs.traceKey}), '')`,
})

const statusQuery = (store: Store, traceKey: number) =>
  store.database
    .select({ status: sql<AttributionStatus>`${attributionJobs.status}`.as('status') })
    .from(attributionJobs)
    .where(isJob(store, traceKey))

/**
 * Gives a job back after a run that failed, for `reason`, words that anybody may read. It has failed for good where
 * `isFinal`, or after `MAX_ATTRIBUTION_ATTEMPTS`; else cron takes it up once `retryAfterMs` are over, too. Returns what the job is then; undefined where it is gone.
 */
export async function releaseLease(
  store: Store,
  { traceKey, token }: Pick<Claim, 'traceKey' | 'token'>,
  { reason, isFinal, retryAfterMs }: { reason: string; isFinal: boolean; retryAfterMs: number },
  now: number,
): Promise<AttributionStatus | undefined> {
  const isOver = isFinal ? sql`true` : sql`${attributionJobs.attempts} >= ${MAX_ATTRIBUTION_ATTEMPTS}`
  const [, [job]] = await readPlain(store.database, [
    store.database
      .update(attributionJobs)
      .set({
        ...NO_LEASE,
        status: sql`iif(${isOver}, 'failed', 'pending')`,
        dueAt: sql`iif(${isOver}, null, ${now + Math.max(RESEND_AFTER_MS, retryAfterMs)})`,
        failure: reason,
      })
      .where(isJob(store, traceKey, isPending, isHeld(token)))
      .returning({ traceKey: attributionJobs.traceKey }),
    statusQuery(store, traceKey),
  ])
  return job?.status
}

/**
 * Gives a job back that is to wait until a time, and is pending meanwhile: nobody claims it before, cron sends it then, and the
 * attempt does not count.
 */
export async function postponeAttribution(
  store: Store,
  { traceKey, token }: Pick<Claim, 'traceKey' | 'token'>,
  until: number,
): Promise<void> {
  await store.database
    .update(attributionJobs)
    .set({ ...NO_LEASE, attempts: sql`${attributionJobs.attempts} - 1`, waitsUntil: until, dueAt: until })
    .where(isJob(store, traceKey, isPending, isHeld(token)))
}

/**
 * Has a job failed that the queue gave up, unless somebody works on it, or it was asked for again and not tried since: that
 * message is of an earlier time. The reason is that of its last attempt, or `reason`.
 */
export async function failAttribution(store: Store, traceKey: number, reason: string, now: number): Promise<void> {
  await store.database
    .update(attributionJobs)
    .set({ ...NO_LEASE, status: 'failed', failure: sql`coalesce(${attributionJobs.failure}, ${reason})`, dueAt: null })
    .where(isJob(store, traceKey, isPending, isFree(now), sql`not ${isWaiting(now)}`, gt(attributionJobs.attempts, 0)))
}

/** Takes up to `limit` jobs that are due and puts each off, as `takeDuePurges` does. */
export async function takeDueAttributions({ database }: UnscopedStore, now: number, limit: number) {
  const due = database
    .select({ traceKey: attributionJobs.traceKey })
    .from(attributionJobs)
    .where(and(isNotNull(attributionJobs.dueAt), lte(attributionJobs.dueAt, now)))
    .orderBy(asc(attributionJobs.dueAt))
    .limit(limit)
  return database
    .update(attributionJobs)
    .set({ dueAt: now + RESEND_AFTER_MS })
    .where(inArray(attributionJobs.traceKey, due))
    .returning({ organizationKey: attributionJobs.organizationKey, traceKey: attributionJobs.traceKey })
}
