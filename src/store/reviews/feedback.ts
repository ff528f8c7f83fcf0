import { and, eq, type SQL, sql } from 'drizzle-orm'
import { isNegativeRating as isNegative, type Labeler, type Rating } from '../../domain/feedback.ts'
import { newId, newRevision } from '../../domain/ids.ts'
import type { JsonObject } from '../../domain/json.ts'
import { markLabelers } from '../accounts/labelers.ts'
import type { Project } from '../accounts/projects.ts'
import { requestAutomaticJobs } from '../attribution/requests.ts'
import { chunkRows } from '../core/chunks.ts'
import { hasNegative } from '../core/ratings.ts'
import { isOneOf, rowSet, selectFor, valuesOf } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { users } from '../schema/accounts.ts'
import { feedback } from '../schema/reviews.ts'
import { traces } from '../schema/traces.ts'
import { isLive } from '../traces/live.ts'
import { ensureRoots, removeIdleRoots } from '../traces/roots.ts'
import { belongsToOtherTrace, isOnOtherTrace, joinedSpanId } from '../traces/span-ids.ts'
import { reopenTraces, touchAndFlag } from '../traces/traces.ts'
import { recordFeedback } from './feedback-events.ts'

/** Feedback as a client sent it. A null field wasn't sent, and an update doesn't change it. */
export interface FeedbackDraft {
  id: string
  traceUuid: string
  spanId: string | null
  name: string | null
  rating: Rating | null
  comment: string | null
  correction: JsonObject | null
  labeller: Labeler | null
  timestamp: number | null
  receivedAt: number
  /** The author if the labeler has no email. */
  fallbackUserId: string
  /** The labeler. If the email is new, the labeler becomes a user with this id. */
  user: { id: string; email: string; name: string } | null
  /** Whether the feedback was originally given elsewhere. If so, it doesn't start an attribution. */
  isImported: boolean
}

export type FeedbackOutcome = 'created' | 'updated' | RefusedFeedback
type RefusedFeedback = 'trace_missing' | 'on_other_trace' | 'span_on_other_trace'

/** The outcome of each draft, and the keys of the traces to attribute. */
interface SavedFeedback {
  outcomes: FeedbackOutcome[]
  toAttribute: number[]
}

/**
 * Stores feedback, or updates the sent fields of existing records. If the project's settings say so, requests the
 * attribution of negative feedback and corrections, except imported ones. Feedback that changes nothing doesn't update
 * its trace's `updatedAt`. Takes one round trip, or two if some drafts are refused. Draft ids must be unique. If there
 * are several databases, drafts with labelers take more round trips, because users are in another database.
 *
 * `on_other_trace`: the record with this id belongs to another live trace. `span_on_other_trace`: the draft's span
 * belongs to another trace.
 */
export async function saveFeedback(
  store: Store,
  project: Pick<Project, 'key'>,
  given: readonly FeedbackDraft[],
): Promise<SavedFeedback> {
  const { database } = store
  const drafts = withOneIdPerEmail(given)
  const outcomes = new Map<string, FeedbackOutcome>()
  const toAttribute: number[] = []
  const createdBy = newRevision()
  const changedBy = `changed:${createdBy}`
  // An update without a time keeps the stored one. Drafts with and without a time need separate statements, because the
  // rows that are sent contain no stored values.
  for (const group of Map.groupBy(drafts, ({ timestamp }) => timestamp !== null).values()) {
    const known = store.control === store ? group : await knowLabelers(store, group)
    for (const { items, json } of chunkRows(known, rowOf)) {
      const receivedAt = items[0]?.receivedAt ?? 0
      const ofTraces = (drafts: readonly FeedbackDraft[]) =>
        sql`${traces.key} in (select ${traces.key} ${storedRecords(store, drafts)})`
      const labeled = items.filter(({ labeller }) => labeller !== null)
      const labelers = items.filter(({ user }) => user !== null)
      const ofChanged = sql`${traces.key} in (
        select ${traces.key} ${storedRecords(store, items)} and ${feedback.createdBy} in (${createdBy}, ${changedBy}))`
      const disputes = items.filter(isDispute)
      const toRequest = disputes.filter(({ isImported }) => !isImported)
      const writes = [
        upsertFeedback(store, json, { createdBy, changedBy, withTime: items[0]?.timestamp !== null }),
        ...touchAndFlag(store, ofChanged, receivedAt, 'isNegative', hasNegative()),
        requestAutomaticJobs(store, ofTraces(toRequest), receivedAt),
        ...(labelers.length === 0 ? [] : [addLabelers(store, storedRecords(store, labelers))]),
        ...(disputes.length === 0 ? [] : [reopenTraces(store, ofTraces(disputes))]),
        ...recordNew(store, project, items, { createdBy, at: receivedAt }),
      ] as const
      const [rows, , , requested] =
        store.control === store
          ? afterFirst(await database.batch([markReplacedLabelers(store, labeled, receivedAt), ...writes]))
          : await database.batch(writes)
      for (const row of rows) outcomes.set(row.id, row.createdBy === createdBy ? 'created' : 'updated')
      const rootless = new Set(rows.filter(({ spanId, isPosted }) => spanId === null && !isPosted).map(({ id }) => id))
      const ofRootless = items.filter(({ id }) => rootless.has(id))
      if (ofRootless.length > 0)
        await ensureRoots(
          store,
          ofRootless.map(({ traceUuid }) => traceUuid),
        )
      for (const { traceKey } of requested) toAttribute.push(traceKey)
    }
  }
  const refused = drafts.filter(({ id }) => !outcomes.has(id))
  const reasons = refused.length === 0 ? new Map<string, RefusedFeedback | null>() : await findReasons(store, refused)
  for (const { id } of refused) outcomes.set(id, reasons.get(id) ?? 'trace_missing')
  // Nothing blocks these drafts anymore: their trace has arrived in the meantime, or the conflicting record was
  // deleted.
  const again = refused.filter(({ id }) => reasons.get(id) === null)
  if (again.length > 0) {
    const late = await saveFeedback(store, project, again)
    for (const [index, { id }] of again.entries()) outcomes.set(id, late.outcomes[index] ?? 'trace_missing')
    toAttribute.push(...late.toAttribute)
  }
  return {
    outcomes: drafts.map(({ id }) => outcomes.get(id) ?? 'trace_missing'),
    toAttribute: [...new Set(toAttribute)],
  }
}

const afterFirst = <First, Rest extends unknown[]>([, ...rest]: [First, ...Rest]): Rest => rest

/**
 * Adds labelers to the control database if their drafts will be stored, and marks labelers whose feedback is about to
 * get a different author. Returns the drafts that will be stored, with their labelers' ids instead of emails, because
 * other databases' copies of `users` may be out of date.
 *
 * A labeler is added before their feedback. If the feedback isn't stored after all, the labeler stays but has no
 * record. No walk can delete a labeler before their feedback is stored: this function unmarks them, and a later mark
 * takes effect only after this request's deadline.
 */
async function knowLabelers(store: Store, drafts: readonly FeedbackDraft[]): Promise<FeedbackDraft[]> {
  const labeled = drafts.filter(({ labeller }) => labeller !== null)
  const authors = new Map(await findAuthors(store, labeled))
  const added = labeled.filter(({ id, user }) => user !== null && authors.has(id))
  const ids = new Map<string, string>()
  for (const { items, json } of chunkRows(added, writtenRow)) {
    const [, found] = await store.control.database.batch([
      addLabelers(store.control, sql`from ${WRITTEN.from(json)} where true`),
      store.control.database
        .select({ id: users.id, email: users.email })
        .from(users)
        .where(
          and(
            eq(users.organizationKey, store.organization.key),
            isOneOf(
              users.email,
              items.flatMap(({ user }) => user?.email ?? []),
            ),
          ),
        ),
    ])
    for (const { id, email } of found) ids.set(email, id)
  }
  const idOf = ({ user, fallbackUserId }: FeedbackDraft) => (user && ids.get(user.email)) ?? fallbackUserId
  const lost = labeled.flatMap(draft => {
    const author = authors.get(draft.id)
    return author && author !== idOf(draft) ? [author] : []
  })
  if (lost.length > 0) {
    await markLabelers(store.control, valuesOf([...new Set(lost)]), Math.floor(drafts[0]?.receivedAt ?? 0))
  }
  // The other drafts are refused. If nothing blocks them anymore by then, the caller saves them again.
  return drafts
    .filter(({ id, labeller }) => labeller === null || authors.has(id))
    .map(draft => ({ ...draft, fallbackUserId: idOf(draft), user: null }))
}

/** The current author of each draft that will be stored, by the draft's id. Null for new feedback. */
async function findAuthors(store: Store, drafts: readonly FeedbackDraft[]): Promise<[string, string | null][]> {
  if (drafts.length === 0) return []
  const { row } = PLACES
  const found = await store.database.all<{ id: string; author: string | null }>(sql`
    select ${row.id} as id, (
      select ${feedback.userId} from ${feedback} where ${feedback.id} = ${row.id} and ${feedback.traceKey} = ${traces.key}
    ) as author
    from ${PLACES.from(PLACES.encodeAll(drafts))} cross join ${traces}
    where ${isLive(store, sql`${traces.id} = ${row.traceUuid}`)}
      and not ${isTaken(store, row)} and not ${namesSpanElsewhere(store, row)}`)
  return found.map(({ id, author }) => [id, author])
}

const NEW = rowSet(['traceUuid', 'id', 'eventId'])

/** The statements that record the events of the feedback that a write created, except imported feedback. */
function recordNew(
  store: Store,
  project: Pick<Project, 'key'>,
  drafts: readonly FeedbackDraft[],
  { createdBy, at }: { createdBy: string; at: number },
) {
  const given = drafts.filter(({ isImported }) => !isImported)
  if (given.length === 0) return []
  const rows = NEW.encodeAll(given.map(({ traceUuid, id }) => ({ traceUuid, id, eventId: newId() })))
  const { traceUuid, id, eventId } = NEW.row
  return recordFeedback(store, project.key, {
    id: eventId,
    at,
    rows: NEW.from(rows),
    isNew: sql`${isLive(store, sql`${traces.id} = ${traceUuid}`)} and ${feedback.id} = ${id}
      and ${feedback.createdBy} = ${createdBy}`,
  })
}

/** Whether feedback shows that something was wrong. A comment alone isn't enough, because it may contain anything. */
const isDispute = ({ rating, correction }: FeedbackDraft): boolean => isNegative(rating) || correction !== null

const FEEDBACK = rowSet([
  'traceUuid',
  'id',
  'spanId',
  'userId',
  'name',
  'rating',
  'comment',
  'correction',
  'labeller',
  'timestamp',
  'receivedAt',
  'email',
])

const rowOf = (draft: FeedbackDraft) =>
  FEEDBACK.encode({
    ...draft,
    userId: draft.user?.id ?? draft.fallbackUserId,
    rating: jsonOrNull(draft.rating),
    correction: jsonOrNull(draft.correction),
    labeller: jsonOrNull(draft.labeller),
    timestamp: draft.timestamp ?? Math.floor(draft.receivedAt),
    email: draft.user?.email,
  })

/**
 * The fields that identify feedback and the trace and span that it belongs to. A whole batch of these fits in one
 * parameter.
 */
const PLACES = rowSet(['traceUuid', 'id', 'spanId'])

type Place = Readonly<Record<'traceUuid' | 'id' | 'spanId', SQL>>

/** Gives drafts whose labelers have the same email the first draft's user id. */
function withOneIdPerEmail(drafts: readonly FeedbackDraft[]): FeedbackDraft[] {
  const ids = new Map<string, string>()
  return drafts.map(draft => {
    if (!draft.user) return draft
    const id = ids.get(draft.user.email) ?? draft.user.id
    ids.set(draft.user.email, id)
    return { ...draft, user: { ...draft.user, id } }
  })
}

const jsonOrNull = (value: unknown) => (value === null ? null : JSON.stringify(value))

/** Inserts the `rows` of `FEEDBACK` whose traces exist. Returns the rows that are stored afterward. */
const upsertFeedback = (
  store: Store,
  rows: string,
  { createdBy, changedBy, withTime }: { createdBy: string; changedBy: string; withTime: boolean },
) => {
  const { row } = FEEDBACK
  return store.database
    .insert(feedback)
    .select(
      selectFor(
        feedback,
        {
          ...row,
          traceKey: traces.key,
          userId: sql`coalesce(${userWith(store, row.email)}, ${row.userId})`,
          createdBy,
          source: 'api',
        },
        sql`from ${FEEDBACK.from(rows)} cross join ${traces}
          where ${isLive(store, sql`${traces.id} = ${row.traceUuid}`)}
            and not ${isTaken(store, row)} and not ${namesSpanElsewhere(store, row)}`,
      ),
    )
    .onConflictDoUpdate({
      target: [feedback.id, feedback.traceKey],
      set: {
        spanId: sql`coalesce(excluded.span_id, ${feedback.spanId})`,
        name: sql`coalesce(excluded.name, ${feedback.name})`,
        rating: sql`coalesce(excluded.rating, ${feedback.rating})`,
        comment: sql`coalesce(excluded.comment, ${feedback.comment})`,
        correction: sql`coalesce(excluded.correction, ${feedback.correction})`,
        labeller: sql`coalesce(excluded.labeller, ${feedback.labeller})`,
        userId: sql`iif(excluded.labeller is null, ${feedback.userId}, excluded.user_id)`,
        ...(withTime && { timestamp: sql`excluded.timestamp` }),
        createdBy: sql`iif(${differs(withTime)}, ${changedBy}, ${feedback.createdBy})`,
      },
      setWhere: eq(feedback.source, 'api'),
    })
    .returning({
      id: feedback.id,
      createdBy: feedback.createdBy,
      spanId: joinedSpanId('feedback'),
      isPosted: sql<number>`(select ${traces.isPosted} from ${traces} where ${traces.key} = ${feedback.traceKey})`,
    })
}

/** Whether an update sends a field whose value differs from the stored one. */
const differs = (withTime: boolean): SQL => {
  const { spanId, name, rating, comment, correction, labeller, userId, timestamp } = feedback
  const fields = [spanId, name, rating, comment, correction, labeller].map(
    column => sql`coalesce(excluded.${sql.identifier(column.name)}, ${column}) is not ${column}`,
  )
  const author = sql`excluded.labeller is not null and excluded.user_id <> ${userId}`
  return sql`(${sql.join([...fields, author, ...(withTime ? [sql`excluded.timestamp <> ${timestamp}`] : [])], sql` or `)})`
}

/** The id of the organization's user with this email, or null. */
const userWith = ({ organization }: Store, email: SQL): SQL =>
  sql`(select ${users.id} from ${users} where ${users.organizationKey} = ${organization.key} and ${users.email} = ${email})`

/**
 * Finds out why drafts were refused even though their traces exist. The reason is null if nothing blocks the draft
 * anymore.
 */
async function findReasons(
  store: Store,
  refused: readonly FeedbackDraft[],
): Promise<Map<string, RefusedFeedback | null>> {
  const { row } = PLACES
  const found = await store.database.all<{ id: string; isTaken: number; namesSpanElsewhere: number }>(sql`
    select ${row.id} as id, ${isTaken(store, row)} as isTaken, ${namesSpanElsewhere(store, row)} as namesSpanElsewhere
    from ${PLACES.from(PLACES.encodeAll(refused))} cross join ${traces}
    where ${isLive(store, sql`${traces.id} = ${row.traceUuid}`)}`)
  return new Map(
    found.map(({ id, isTaken, namesSpanElsewhere }) => [
      id,
      isTaken === 1 ? 'on_other_trace' : namesSpanElsewhere === 1 ? 'span_on_other_trace' : null,
    ]),
  )
}

/**
 * Whether a row's id belongs to another trace's record or to a reviewer's comment. Comments on other traces are
 * ignored, because clients can compute a record's id: an older comment may have taken the id before the service
 * rejected comments with such ids.
 */
const isTaken = (store: Store, { id, traceUuid }: Place): SQL => sql`(
  ${isOnOtherTrace(store, feedback, { id, traceUuid, which: sql`elsewhere.source = 'api'` })}
  or exists (select 1 from ${feedback} comment
    where comment.id = ${id} and comment.trace_key = ${traces.key} and comment.source <> 'api'))`

/** Whether a row names another trace's span. Feedback that is already stored on that span may be sent again. */
const namesSpanElsewhere = (store: Store, { id, spanId }: Place): SQL => sql`(${belongsToOtherTrace(store, spanId)}
  and not exists (select 1 from ${feedback} stored where stored.id = ${id}
    and stored.trace_key = ${traces.key} and stored.span_id = ${spanId}))`

/** The records with the drafts' ids, whether the drafts were stored or refused. */
const namedRecords = (store: Store, drafts: readonly FeedbackDraft[]) => sql`
  from ${WRITTEN.from(writtenRows(drafts))} cross join ${traces} cross join ${feedback}
  where ${isLive(store, sql`${traces.id} = ${WRITTEN.row.traceUuid}`)}
    and ${feedback.traceKey} = ${traces.key} and ${feedback.id} = ${WRITTEN.row.id}`

/** The fields of drafts for statements other than the insertion. */
const WRITTEN = rowSet(['traceUuid', 'id', 'spanId', 'userId', 'email', 'name', 'createdAt'])

const writtenRow = ({ traceUuid, id, spanId, user, receivedAt }: FeedbackDraft) =>
  WRITTEN.encode({
    traceUuid,
    id,
    spanId,
    userId: user?.id,
    email: user?.email,
    name: user?.name,
    createdAt: Math.floor(receivedAt),
  })

const writtenRows = (drafts: readonly FeedbackDraft[]): string => JSON.stringify(drafts.map(writtenRow))

/** The records of the drafts that were stored. A refused draft changes nothing, not even a timestamp. */
const storedRecords = (store: Store, drafts: readonly FeedbackDraft[]) => sql`
  ${namedRecords(store, drafts)}
    and ${feedback.source} = 'api' and coalesce(${WRITTEN.row.spanId}, ${feedback.spanId}) is ${feedback.spanId}`

/** The statement that marks labelers whose feedback is about to get a different author. */
const markReplacedLabelers = (store: Store, drafts: readonly FeedbackDraft[], now: number) =>
  markLabelers(
    store,
    sql`(select ${feedback.userId} ${namedRecords(store, drafts)}
      and ${feedback.userId} is not ${userWith(store, WRITTEN.row.email)})`,
    Math.floor(now),
  )

/**
 * Adds the labelers in the rows of `WRITTEN` that `from` contains. Leave out rows whose feedback isn't stored, because
 * refused feedback must leave nothing behind. Fills in a missing name, and unmarks a labeler who has feedback again.
 */
const addLabelers = (store: Store, from: SQL) =>
  store.database
    .insert(users)
    .select(
      selectFor(
        users,
        {
          ...WRITTEN.row,
          organizationKey: store.organization.key,
          id: WRITTEN.row.userId,
          createdBy: null,
          uncheckedSince: null,
          isAdjudicator: 0,
        },
        from,
      ),
    )
    .onConflictDoUpdate({
      target: [users.organizationKey, users.email],
      set: { name: sql`iif(${users.name} = '', excluded.name, ${users.name})`, uncheckedSince: null },
      setWhere: sql`(${users.name} = '' and excluded.name <> '') or ${users.uncheckedSince} is not null`,
    })

/** Withdraws a pipeline's feedback. Returns whether it existed. Running it twice has no further effect. */
export async function withdrawFeedback(store: Store, id: string, at: number): Promise<boolean> {
  const { database } = store
  const ofTrace = sql`${traces.key} = ${feedback.traceKey}`
  const isGiven = and(eq(feedback.id, id), eq(feedback.source, 'api'))
  const [given] = await database
    .select({ traceKey: feedback.traceKey, userId: feedback.userId, labeller: feedback.labeller })
    .from(feedback)
    .where(and(isGiven, sql`exists (select 1 from ${traces} where ${isLive(store, ofTrace)})`))
  if (!given) return false
  const isThis = sql`${feedback.id} = ${id} and ${feedback.traceKey} = ${given.traceKey} and ${feedback.source} = 'api'`
  const ofThis = isLive(store, eq(traces.key, given.traceKey), sql`exists (select 1 from ${feedback} where ${isThis})`)
  // This isn't part of the batch, because users and feedback may be in different databases.
  if (given.labeller !== null) await markLabelers(store.control, sql`(select ${given.userId})`, at)
  await database.batch([
    ...touchAndFlag(store, ofThis, at, 'isNegative', hasNegative(id)),
    database
      .delete(feedback)
      .where(sql`${isThis} and exists (select 1 from ${traces} where ${isLive(store, ofTrace)})`),
    removeIdleRoots(store, isLive(store, eq(traces.key, given.traceKey))),
  ])
  return true
}
