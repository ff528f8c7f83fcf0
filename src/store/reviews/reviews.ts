import { and, eq, type SQL, sql } from 'drizzle-orm'
import { groupOf } from '../../domain/dataset.ts'
import { newId } from '../../domain/ids.ts'
import { isSampled } from '../../domain/review-policy.ts'
import type { Decision, ReviewBasis, ReviewOutcome } from '../../domain/review-state.ts'
import { utf8Length } from '../../domain/text.ts'
import { type Act, actorOf, recordActs } from '../accounts/audit.ts'
import { type ErrorTypeState, errorTypeStateLookup, errorTypeStateQueries } from '../attribution/error-types.ts'
import { requestAutomaticJobs } from '../attribution/requests.ts'
import { refreshAssignments } from '../core/assignees.ts'
import { chunkRows } from '../core/chunks.ts'
import { type SpanClaim, toClaims } from '../core/claims.ts'
import { readPlain } from '../core/database.ts'
import { recordEvents } from '../core/outbox.ts'
import { policyOf } from '../core/review-policy.ts'
import { isFree, needsReview } from '../core/reviewable.ts'
import { isOneOf, rowSet, selectFor } from '../core/rows.ts'
import { isStep, promptOfStep, readStepId } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { markDays } from '../counts/output-days.ts'
import { updateCases } from '../counts/problem-cases.ts'
import { countDecisions } from '../counts/review-days.ts'
import { ENTRY_ROW, type EntryDraft, encodeEntry, entryStatements } from '../datasets/entries.ts'
import { projects } from '../schema/accounts.ts'
import { datasetSettings } from '../schema/datasets.ts'
import { feedback, reviews } from '../schema/reviews.ts'
import { observations, spans } from '../schema/spans.ts'
import { textVersions } from '../schema/texts.ts'
import { traces } from '../schema/traces.ts'
import { type FoldedSpan, foldSpans } from '../spans/fold-spans.ts'
import {
  isLocated,
  isLocatedRoot,
  type LocatedTrace,
  locatedSpans,
  spanQueries,
  toLocatedRows,
} from '../spans/located-rows.ts'
import { chooseShared, type SharedReview, sharingSpans } from '../spans/shared-review.ts'
import { isLastDecision } from '../spans/span-fields.ts'
import { isDecided, isStanding, latestVotes, toVoteRow } from '../spans/vote-rows.ts'
import { isLive } from '../traces/live.ts'
import type { StoredValue } from '../traces/payloads.ts'
import { touchAndFlag } from '../traces/traces.ts'
import { recordFeedback } from './feedback-events.ts'
import { endVoting, hasOtherClaims, type VoteDraft, voteBytes, voteStatements, votesOnLocated } from './votes.ts'

/** A span to review, with its context. */
export interface ReviewSubject {
  span: FoldedSpan
  trace: LocatedTrace
  /** The JSON Schema for approved outputs, as JSON. Null if neither the span nor its step has a prompt. */
  outputSchema: string | null
  /** The span that this root is reviewed with. */
  shared: SharedReview | undefined
  /** The root that shows this span's review. */
  sharingRootId: string | null
  item: ItemContext
  voting: Voting
}

/** How several people review a span. */
interface Voting {
  /**
   * How many people review the span: the policy's number at the first vote on its output or, before that, its current
   * number.
   */
  reviewers: number
  isBlind: boolean
  /** Whether the policy's sample includes it. */
  isSampled: boolean
  /** The current claims on it. */
  claims: readonly SpanClaim[]
  /** The evaluator of its step as JSON. Null for the default. */
  evaluator: string | null
}

/** The data, besides the span itself, that the span's dataset item depends on. */
interface ItemContext {
  projectId: string
  /** The step id that the pipeline sends. */
  stepId: string
  /** The stored step id at its last decision. Null if it has none. */
  decidedStepId: string | null
  /** See `groupOf`. */
  group: string | undefined
}

/** The data that reviews of spans depend on. */
export interface ReviewSubjects {
  /** Keyed by span id. Spans that don't exist in the organization are missing. */
  subjects: Map<string, ReviewSubject>
  /** The state of one of the named error types in a project. */
  errorTypeState: (projectKey: number, errorType: string) => ErrorTypeState
}

/**
 * Reads spans, the votes and claims on them, their output schemas, and the state of error types in their projects, in
 * one round trip.
 */
export async function findReviewSubjects(
  store: Store,
  spanIds: readonly string[],
  namedErrorTypes: readonly string[],
  now: number,
): Promise<ReviewSubjects> {
  const { database } = store
  const located = locatedSpans(store, spanIds)
  const inTraces = sql`(select located.trace_key from ${located} as located)`
  const [
    traceRows,
    spanRows,
    observationRows,
    decisionRows,
    contexts,
    schemas,
    groups,
    sharing,
    voteRows,
    builtInTypes,
    projectTypes,
  ] = await readPlain(database, [
    ...spanQueries(store, spanIds),
    database
      .select({
        spanId: sql<string>`${spans.id}`.as('spanId'),
        versionKey: sql<number | null>`${versionKey}`.as('versionKey'),
        sharingRootId: sharingRootId.as('sharingRootId'),
        stepId: sql<string>`${spans.stepId}`.as('stepId'),
        projectId:
          sql<string>`(select ${projects.id} from ${projects} where ${projects.key} = ${traces.projectKey})`.as(
            'projectId',
          ),
        decidedStepId: sql<string | null>`(select ${reviews.stepId} from ${reviews} where ${isLastDecision})`.as(
          'decidedStepId',
        ),
        reviewers: sql<number>`${policy.reviewers}`.as('reviewers'),
        isBlind: sql<number>`${policy.isBlind}`.as('isBlind'),
        sample: sql<number>`${policy.sample}`.as('sample'),
        // The first vote isn't compared with any others, so it doesn't need the evaluator.
        evaluator: sql<string | null>`iif(${spans.voteNumber} = 0, null, (
          select ${datasetSettings.evaluator} from ${datasetSettings} where ${datasetSettings.projectKey} = ${traces.projectKey}
            and ${isStep(traces.projectKey, datasetSettings.stepId, spans.stepId)} limit 1))`.as('evaluator'),
      })
      .from(spans)
      .crossJoin(traces)
      .where(and(isLocated(located), eq(traces.key, spans.traceKey))),
    database
      .select({
        key: sql<number>`${textVersions.key}`.as('key'),
        outputSchema: sql<string | null>`${textVersions.outputSchema}`.as('outputSchema'),
      })
      .from(textVersions)
      .where(sql`${textVersions.key} in (select ${versionKey} from ${spans} where ${isLocated(located)})`),
    database
      .select({ key: sql<number>`${traces.key}`.as('key'), metadata: sql<string>`${traces.metadata}`.as('metadata') })
      .from(traces)
      .where(sql`${traces.key} in ${inTraces}`),
    sharingSpans(store, isLocatedRoot(located)),
    votesOnLocated(store, spanIds),
    ...errorTypeStateQueries(store, namedErrorTypes, inTraces),
  ])
  const rows = toLocatedRows([traceRows, spanRows, observationRows, decisionRows])
  const traceOf = new Map(rows.traces.map(trace => [trace.key, trace]))
  const schemaOf = new Map(schemas.map(({ key, outputSchema }) => [key, outputSchema]))
  const contextOf = new Map(contexts.map(context => [context.spanId, context]))
  const sharedOf = chooseShared(store, sharing)
  const votesOf = Map.groupBy(voteRows.map(toVoteRow), ({ spanId }) => spanId)
  const groupOfTrace = new Map(groups.map(({ key, metadata }) => [key, groupOf(JSON.parse(metadata))]))
  const subjects = new Map<string, ReviewSubject>()
  for (const span of foldSpans(rows)) {
    const trace = traceOf.get(span.row.traceKey)
    const context = contextOf.get(span.row.id)
    if (!trace || !context) continue
    const { versionKey, sharingRootId, stepId, projectId, decidedStepId } = context
    const votes = votesOf.get(span.row.id) ?? []
    const [vote] = isDecided(span) ? [] : latestVotes(span, votes).filter(isStanding)
    subjects.set(span.row.id, {
      span: { ...span, votes },
      trace,
      outputSchema: schemaOf.get(versionKey ?? 0) ?? null,
      shared: sharedOf.get(span.row.id),
      sharingRootId,
      item: { projectId, stepId, decidedStepId, group: groupOfTrace.get(trace.key) },
      voting: {
        reviewers: vote?.reviewers ?? context.reviewers,
        isBlind: context.isBlind === 1,
        isSampled: isSampled(span.row.id, context.sample),
        claims: toClaims(span.row).filter(({ until }) => until > now),
        evaluator: context.evaluator,
      },
    })
  }
  return { subjects, errorTypeState: errorTypeStateLookup(builtInTypes, projectTypes) }
}

const policy = policyOf(traces.projectKey, spans.stepId)

/**
 * The prompt version whose schema a span's output must match: the version that the span names or, failing that, the
 * active version of its step's prompt.
 */
const versionKey = sql`coalesce(
  (select named.key from ${textVersions} named where named.id = ${spans.promptVersionId}),
  (select active.key from ${traces} cross join ${textVersions} active
   where ${traces.key} = ${spans.traceKey}
     and active.text_key = ${promptOfStep(traces.projectKey, spans.stepId)} and active.is_active = 1))`

/**
 * The root that shares the current span's text. A correction may have separated the two, so this compares the text from
 * before the correction.
 */
const sharingRootId = sql<string | null>`(
  select root.id from ${traces} own cross join ${spans} root
  where own.key = spans.trace_key and root.id = own.root_span_id and root.trace_key = own.key and root.id <> spans.id
    and root.text_hash = abs(spans.text_hash) and root.review_state is null)`

/** A decision on a span, based on an earlier read of the span. */
export interface ReviewDraft {
  /** The caller chooses it, so a retry doesn't add a second decision. */
  id: string
  projectKey: number
  traceKey: number
  spanId: string
  /** The number of decisions when the span was read, and the vote number, which grows with each vote. */
  numberBefore: number
  voteNumberBefore: number
  /** The id of the last of those decisions. */
  idBefore: string | null
  decision: Decision
  state: ReviewOutcome | null
  outputRevision: string
  outputHash: string
  approved: StoredValue | null
  comment: string | null
  errorType: string | null
  /** Whether the approved output can be written in the form that a root with the same text has. */
  canBeShared: boolean
  /** Whether the decision may override another reviewer's claim. */
  takesOver: boolean
  /** The reviewer, and the time of the decision. */
  userId: string
  createdAt: number
  /** Null if the decision was made in this service. */
  importedAt: number | null
  basis: ReviewBasis | null
  /** The last of the votes that it follows from. */
  vote: VoteDraft | undefined
  /** Whether several people review the span. If so, there may be votes and other claims, which the decision ends. */
  endsVoting: boolean
  /** The decision's changes to datasets. */
  entries: readonly EntryDraft[]
  /** Whether cron needs to bring the trace's items up to date, because `entries` is incomplete. */
  isUnsettled: boolean
}

/**
 * Adds decisions to their spans' histories. A decision is skipped if someone else has decided or voted on its span
 * since the span was read, or has claimed the span. The batch also ends the spans' claims, stores comments as feedback,
 * adds an audit entry for each decision, ends votes on the spans, and, if the project's settings say so, requests the
 * attribution of corrections, except imported ones. Returns the ids of the added decisions, each with whether the
 * output has changed since it was read, and the keys of the traces to attribute. Takes one round trip. Spans must be
 * unique.
 */
export async function addReviews(
  store: Store,
  act: Act,
  drafts: readonly ReviewDraft[],
): Promise<{ added: Map<string, { isStale: boolean }>; toAttribute: Set<number> }> {
  const { database } = store
  const added = new Map<string, { isStale: boolean }>()
  const toAttribute = new Set<number>()
  for (const { items, json } of chunkRows(drafts, rowOf, entryBytes)) {
    const entries = items.flatMap(draft => draft.entries)
    const slim = ADDED.encodeAll(
      items.map(item => ({ ...item, canBeShared: Number(item.canBeShared), isUnsettled: Number(item.isUnsettled) })),
    )
    const from = sql`from ${ADDED.from(slim)} cross join ${reviews} where ${isAdded(ADDED.row)}`
    const { row } = ADDED
    // Accepting a span that nobody has reviewed neither creates nor ends a case.
    const changing = items.filter(
      ({ numberBefore, state, errorType }) => numberBefore > 0 || state !== 'accepted' || errorType !== null,
    )
    const votes = items.flatMap(({ vote, id }) => (vote ? { ...vote, reviewId: id } : []))
    const ending = items.filter(({ endsVoting }) => endsVoting)
    const results = await database.batch([
      database
        .insert(reviews)
        .select(
          selectFor(
            reviews,
            {
              ...DRAFTS.row,
              traceKey: traces.key,
              spanId: spans.id,
              number: sql`${spans.reviewNumber} + 1`,
              projectKey: traces.projectKey,
              stepId: spans.stepId,
              promptVersionId: sql`coalesce(${spans.promptVersionId}, '')`,
            },
            sql`from ${DRAFTS.from(json)} cross join ${traces} cross join ${spans}
              where ${isLive(store, sql`${traces.key} = ${DRAFTS.row.traceKey}`)} and ${isUnchanged(DRAFTS.row)}
                and ${spans.voteNumber} = ${DRAFTS.row.voteNumberBefore}
                and (${DRAFTS.row.takesOver} or ${isFree(actorOf(act) ?? '', act.at)}
                  and not (${DRAFTS.row.isByVotes} and ${hasOtherClaims(actorOf(act) ?? '', act.at)}))`,
          ),
        )
        .onConflictDoNothing(),
      database
        .insert(feedback)
        .select(
          selectFor(
            feedback,
            {
              id: reviews.id,
              traceKey: reviews.traceKey,
              spanId: reviews.spanId,
              userId: reviews.userId,
              rating: null,
              comment: reviews.comment,
              correction: null,
              name: null,
              labeller: null,
              timestamp: reviews.createdAt,
              receivedAt: act.at,
              createdBy: reviews.id,
              source: 'review',
            },
            // A decision that follows from votes is skipped, because the votes' comments are stored separately.
            sql`${from} and ${reviews.comment} is not null and ${reviews.basis} is not 'votes'`,
          ),
        )
        .onConflictDoNothing(),
      // Add the entries and counts before the spans' numbers are updated, so a retry after a lost reply doesn't add
      // them again.
      ...entryStatements(
        store,
        JSON.stringify(entries.map((entry, index) => encodeEntry(entry, index + 1))),
        act.at,
        sql`exists (select 1 from ${spans} cross join ${reviews} where ${isUnchanged(DECIDED)} and ${isAdded(DECIDED)})`,
      ),
      countDecisions(
        store,
        sql`from ${ADDED.from(slim)} cross join ${spans}
          where ${isUnchanged(row)} and exists (select 1 from ${reviews} where ${isAdded(row)})`,
      ),
      database
        .update(spans)
        .set({
          reviewNumber: sql`${row.numberBefore} + 1`,
          reviewState: row.state,
          claimedBy: null,
          claimedUntil: null,
          // Another output may have arrived since the read. This compares only revisions.
          textHash: sql`iif(${row.canBeShared}, 1, -1) * abs(${spans.textHash})`,
          isStale: sql`(${row.state} is not null
            and coalesce(last.id, ${spans.outputRevision}, 'none') <> ${row.outputRevision})`,
        })
        .from(
          sql`${ADDED.from(slim)} left join ${lastOutputs(slim)} as last
            on last.trace_key = ${row.traceKey} and last.span_id = ${row.spanId}`,
        )
        .where(sql`${isUnchanged(row)} and exists (select 1 from ${reviews} where ${isAdded(row)})`),
      ...touchAndFlag(
        store,
        isLive(store, sql`${traces.key} in (select ${reviews.traceKey} ${from})`),
        act.at,
        'needsReview',
        needsReview,
      ),
      database
        .update(traces)
        .set({ itemsDueAt: act.at })
        .where(
          isLive(
            store,
            sql`${traces.key} in (select ${reviews.traceKey} from ${ADDED.from(slim)} cross join ${reviews} cross join ${spans}
              where ${isAdded(row)} and ${spans.id} = ${reviews.spanId} and ${spans.traceKey} = ${reviews.traceKey}
                and (${row.isUnsettled} or ${spans.isStale}))`,
          ),
        ),
      markDays(
        store,
        sql`select ${traces.projectKey}, ${traces.timestamp}
          from ${ADDED.from(slim)} cross join ${reviews} cross join ${traces}
          where ${isAdded(row)} and ${traces.key} = ${reviews.traceKey}`,
        act.at,
      ),
      recordActs(
        store,
        act,
        {
          id: reviews.id.getSQL(),
          projectKey: reviews.projectKey.getSQL(),
          action: sql`'review.' || iif(${reviews.importedAt} is null, ${reviews.decision}, 'import')`,
          targetId: reviews.spanId.getSQL(),
          beforeId: row.idBefore,
          afterId: reviews.id.getSQL(),
        },
        from,
      ),
      database
        .select({ id: reviews.id, isStale: spans.isStale })
        .from(ADDED.from(slim))
        .crossJoin(reviews)
        .crossJoin(spans)
        .where(sql`${isAdded(row)} and ${spans.id} = ${reviews.spanId} and ${spans.traceKey} = ${reviews.traceKey}`),
      requestAutomaticJobs(
        store,
        sql`${traces.key} in (
          select ${reviews.traceKey} ${from} and ${reviews.state} = 'corrected' and ${reviews.importedAt} is null)`,
        act.at,
      ),
      refreshAssignments(store, isLive(store, isOneOfKeys(items))),
      ...(changing.length > 0 ? updateCases(store, isLive(store, isOneOfKeys(changing))) : []),
      ...(votes.length > 0 ? voteStatements(store, act, votes) : []),
      ...(ending.length > 0 ? endVoting(store, act, ending) : []),
      ...recordDecisions(store, items, act.at),
    ])
    const [rows, requested] = [results[12], results[13]]
    for (const { id, isStale } of rows) added.set(id, { isStale })
    for (const { traceKey } of requested) toAttribute.add(traceKey)
  }
  return { added, toAttribute }
}

/** The statements that record the events of decisions and of their comments, except imported ones. */
function recordDecisions(store: Store, drafts: readonly ReviewDraft[], at: number) {
  const decided = Map.groupBy(
    drafts.filter(({ importedAt }) => importedAt === null),
    ({ projectKey }) => projectKey,
  )
  return [...decided].flatMap(([projectKey, items]) => {
    const rows = DECISIONS.encodeAll(items.map(item => ({ ...item, eventId: newId() })))
    const { row } = DECISIONS
    const from = sql`from ${DECISIONS.from(rows)} cross join ${reviews} where ${isAdded(row)}`
    const { traceKey, id, userId, spanId } = reviews
    const stepId = readStepId(sql`${projectKey}`, reviews.stepId)
    const event = { traceKey, subjectId: id, actorId: userId, at }
    return [
      ...recordEvents(
        store,
        'span.reviewed',
        projectKey,
        {
          ...event,
          id: row.eventId,
          data: {
            reviewId: id,
            spanId,
            stepId,
            decision: reviews.decision,
            state: reviews.state,
            errorType: reviews.errorType,
            promptVersionId: sql`nullif(${reviews.promptVersionId}, '')`,
            basis: reviews.basis,
          },
        },
        from,
      ),
      // Each comment has the id of the decision or of the vote that it was written with.
      ...recordFeedback(store, projectKey, {
        id: sql`${feedback.id}`,
        at,
        rows: sql`${DECISIONS.from(rows)} cross join ${reviews}`,
        isNew: sql`${isAdded(row)} and ${traces.key} = ${traceKey} and ${feedback.createdBy} = ${id}`,
      }),
    ]
  })
}

const PLACE = ['traceKey', 'spanId', 'numberBefore', 'id'] as const
const DRAFTS = rowSet([
  ...PLACE,
  'decision',
  'state',
  'outputRevision',
  'outputHash',
  'approved',
  'approvedRef',
  'comment',
  'errorType',
  'takesOver',
  'userId',
  'createdAt',
  'importedAt',
  'basis',
  'voteNumberBefore',
  'isByVotes',
])
const DECISIONS = rowSet([...PLACE, 'eventId'])
/** Whether a trace is one of the drafts' traces. */
const isOneOfKeys = (drafts: readonly ReviewDraft[]): SQL =>
  isOneOf(
    traces.key,
    drafts.map(({ traceKey }) => traceKey),
  )

/** The fields of drafts for the statements after the insertion. */
const ADDED = rowSet([...PLACE, 'state', 'idBefore', 'outputRevision', 'canBeShared', 'isUnsettled'])
type Place = Readonly<Record<(typeof PLACE)[number], SQL>>

/** The decision that an entry records. */
const DECIDED = {
  traceKey: ENTRY_ROW.traceKey,
  spanId: ENTRY_ROW.reviewedId,
  numberBefore: ENTRY_ROW.numberBefore,
  id: ENTRY_ROW.reviewId,
}

const entryBytes = ({ entries, vote }: ReviewDraft): number =>
  entries.reduce((sum, entry) => sum + utf8Length(JSON.stringify(encodeEntry(entry, 0))), vote ? voteBytes(vote) : 0)

const rowOf = ({ entries: _, vote, projectKey: __, ...draft }: ReviewDraft) =>
  DRAFTS.encode({
    ...draft,
    isByVotes: Number(vote !== undefined),
    approved: draft.approved?.text,
    approvedRef: draft.approved?.ref,
    takesOver: Number(draft.takesOver),
  })

/** The last output observed for each span in these rows' traces, found in one pass. */
const lastOutputs = (rows: string) => sql`(
  select span_id, trace_key, id from (
    select observed.trace_key, observed.id, coalesce(observed.span_id, own.root_span_id) as span_id,
      row_number() over (
        partition by observed.trace_key, coalesce(observed.span_id, own.root_span_id)
        order by observed.timestamp desc, observed.received_at desc, observed.id desc) as place
    from ${traces} own cross join ${observations} observed
    where own.key in (select ${ADDED.row.traceKey} from ${ADDED.from(rows)})
      and observed.trace_key = own.key and observed.type = 'output')
  where place = 1)`

/** Whether a span still has the number of decisions that its draft was based on. */
const isUnchanged = ({ traceKey, spanId, numberBefore }: Place) =>
  sql`${spans.id} = ${spanId} and ${spans.traceKey} = ${traceKey} and ${spans.reviewNumber} = ${numberBefore}`

/** Whether a review was added by the given row. */
const isAdded = ({ traceKey, spanId, numberBefore, id }: Place) =>
  sql`${reviews.traceKey} = ${traceKey} and ${reviews.spanId} = ${spanId}
    and ${reviews.number} = ${numberBefore} + 1 and ${reviews.id} = ${id}`
