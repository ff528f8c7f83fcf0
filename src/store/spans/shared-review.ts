import { type SQL, sql } from 'drizzle-orm'
import type { SelectResultFields } from 'drizzle-orm/query-builders/select.types'
import { JsonText } from '../../domain/json.ts'
import { chooseReviewed, inFormOf } from '../../domain/shared-text.ts'
import type { PayloadMode } from '../../domain/span.ts'
import { MAX_PAGE_VALUE_BYTES, MAX_SHARING_DEPTH, MAX_SHARING_SPANS } from '../../limits.ts'
import { type Assignment, assignees, toAssignments } from '../core/assignees.ts'
import { moreClaims, type SpanClaim } from '../core/claims.ts'
import { named, readPlain } from '../core/database.ts'
import { hasBlindPolicy, policyReviewers } from '../core/review-policy.ts'
import { sharesTextWith } from '../core/reviewable.ts'
import type { Store } from '../core/store.ts'
import { reviews } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'
import {
  countWithin,
  fetchValues,
  lengthOf,
  type ShownMode,
  type ShownValue,
  showText,
  showValues,
} from '../traces/payloads.ts'
import { type FoldedSpan, foldSpans } from './fold-spans.ts'
import { isLocatedRoot, locatedSpans, spanQueries, toLocatedRows } from './located-rows.ts'
import { isCommentCut, shownComment } from './shown-comment.ts'
import {
  claimsOf,
  isAnyCut,
  reviewersOf,
  reviewOf,
  revisionOf,
  type SpanDetail,
  type SpanReview,
} from './span-detail.ts'
import { isLastDecision } from './span-fields.ts'
import { readSuggestions, type Suggestion } from './suggestions.ts'
import { NO_VOTES, readVotes, type ShownVotes } from './votes.ts'
import { fetchOutputs } from './whole-outputs.ts'

/*
 * A root with the same text as a span below it isn't reviewed itself. Instead, it shows that span's review, in the
 * root's own form. See `domain/shared-text.ts`.
 */

/** How deep the current span is below its trace's root. A span whose parent hasn't arrived is right below the root. */
const depth = sql<number>`(
  with recursive above(id, depth) as (
    select ${spans.parentId}, 1
    union all
    select parent.parent_id, above.depth + 1 from above cross join ${spans} parent
    where parent.id = above.id and parent.trace_key = ${spans.traceKey} and parent.is_root = 0
      and above.depth < ${sql.raw(String(MAX_SHARING_DEPTH))})
  select max(above.depth) from above)`

const sharingFields = {
  rootId: sql<string>`sharing.root_id`.as('rootId'),
  ...named({
    id: spans.id,
    traceKey: spans.traceKey,
    timestamp: spans.timestamp,
    reviewNumber: spans.reviewNumber,
    claimedBy: spans.claimedBy,
    claimedUntil: spans.claimedUntil,
  }),
  receivedAt: sql<number>`coalesce(${spans.receivedAt}, 0)`.as('receivedAt'),
  depth: depth.as('depth'),
  firstReviewedAt: sql<number | null>`iif(${spans.reviewState} is null, null, (
    select first.created_at from ${reviews} first
    where first.trace_key = ${spans.traceKey} and first.span_id = ${spans.id} and first.number = 1))`.as(
    'firstReviewedAt',
  ),
  // The output with the shared text is the current one.
  outputRevision: sql<string>`coalesce(${spans.textId}, ${spans.outputRevision}, 'none')`.as('outputRevision'),
  isStale: sql<number>`${spans.isStale}`.as('isStale'),
  hasSuggestions: sql<number>`${spans.hasSuggestions}`.as('hasSuggestions'),
  assignees: assignees.as('assignees'),
  moreClaims: moreClaims.as('moreClaims'),
  hasBlindPolicy: sql<number>`${hasBlindPolicy}`.as('hasBlindPolicy'),
  policyReviewers: sql<number>`${policyReviewers}`.as('policyReviewers'),
  voteNumber: sql<number>`${spans.voteNumber}`.as('voteNumber'),
  state: sql<SpanReview['state'] | null>`${reviews.state}`.as('state'),
  userId: sql<string | null>`${reviews.userId}`.as('userId'),
  createdAt: sql<number | null>`${reviews.createdAt}`.as('createdAt'),
  comment: sql<string | null>`${reviews.comment}`.as('comment'),
  errorType: sql<string | null>`${reviews.errorType}`.as('errorType'),
  basis: sql<SpanReview['basis']>`${reviews.basis}`.as('basis'),
}

type SharingRow = SelectResultFields<typeof sharingFields>

/**
 * Selects up to `MAX_SHARING_SPANS` spans that have the same text as their root, each with its last decision. `ofRoots`
 * is a condition on the alias `root`.
 */
export const sharingSpans = ({ database }: Store, ofRoots: SQL) =>
  database
    .select(sharingFields)
    // Limit the rows before looking up the other fields, because a loop can repeat the same text many times.
    .from(
      sql`(select root.id as root_id, below.id, below.trace_key from ${spans} root cross join ${spans} below
        where ${ofRoots} and ${sharesTextWith('root', 'below')}
        order by root.id, below.timestamp, below.id limit ${sql.raw(String(MAX_SHARING_SPANS))}) as sharing`,
    )
    .crossJoin(spans)
    .leftJoin(reviews, isLastDecision)
    .where(sql`${spans.id} = sharing.id and ${spans.traceKey} = sharing.trace_key`)

/** The review of another span that a root shows. */
export interface SharedReview {
  /** The reviewed span. */
  spanId: string
  revision: string
  review: SpanReview | undefined
  claims: readonly SpanClaim[]
  assignees: readonly Assignment[]
  /** How many people review the span, unless its votes require a different number. */
  reviewers: number
  /** Whether anybody has voted on the span or an agent has ever suggested a decision. */
  hasOpinions: boolean
}

/** Chooses the span whose review each root shows, keyed by the root's id. */
export function chooseShared(store: Store, rows: readonly SharingRow[]): Map<string, SharedReview> {
  const ofRoot = Map.groupBy(rows, ({ rootId }) => rootId)
  return new Map(
    [...ofRoot].flatMap(([rootId, sharing]) => {
      const chosen = chooseReviewed(sharing)
      return chosen ? [[rootId, toShared(store, chosen)]] : []
    }),
  )
}

const toShared = (store: Store, { id, outputRevision, ...row }: SharingRow): SharedReview => {
  const { state, userId, createdAt, comment, errorType, basis, isStale } = row
  const isReviewed = state !== null && userId !== null && createdAt !== null
  const review = isReviewed
    ? { state, userId, createdAt, comment, errorType, basis, isStale: isStale === 1 }
    : undefined
  return {
    spanId: id,
    revision: revisionOf({ outputRevision, row }),
    review,
    claims: claimsOf(store, { row, review }),
    assignees: toAssignments(row.assignees),
    reviewers: reviewersOf(row, review),
    hasOpinions: row.hasSuggestions === 1 || row.voteNumber > 0,
  }
}

/** The review of a span, as shown by a root that is reviewed with the span. */
export function sharedReviewOf(store: Store, span: FoldedSpan, mode: ShownMode): Omit<SharedReview, 'hasOpinions'> {
  const { row } = span
  const review = reviewOf(span, mode)
  return {
    spanId: row.id,
    revision: revisionOf(span),
    review,
    claims: claimsOf(store, { row, review }),
    assignees: toAssignments(row.assignees),
    reviewers: reviewersOf(row, review),
  }
}

/** Combines a root's revision with the revision of the span whose review the root shows. */
export const sharedRevision = (root: string, reviewed: string): string => `${root}+${reviewed}`

/** What a root shows of the span that it's reviewed with, in the root's own form. */
interface SharedValues extends Opinions {
  /** The corrected output. Undefined if the output isn't corrected. */
  approved: ShownValue | undefined
}

/** What agents suggest about a span, and how people voted on it. */
export interface Opinions extends ShownVotes {
  suggestions: readonly Suggestion[]
}

export const NO_OPINIONS: Opinions = { suggestions: [], ...NO_VOTES }

const NOTHING_SHARED: SharedValues = { approved: undefined, ...NO_OPINIONS }

/** Shows a root with the review of another span, and with the suggestions and votes on it. */
export function withSharedReview(
  root: SpanDetail,
  { spanId, revision, review, claims, assignees, reviewers }: Omit<SharedReview, 'hasOpinions'>,
  { approved, suggestions, ...votes }: SharedValues,
  mode: ShownMode,
): SpanDetail {
  const isCut = isCommentCut(review?.comment, mode)
  const isOutputCut = root.truncated.includes('output')
  const shown =
    review?.state === 'accepted' ? { text: root.output.text, isWhole: !isOutputCut } : (approved ?? NOT_APPROVED)
  return {
    ...root,
    review: review && { ...review, comment: shownComment(review.comment, mode) },
    reviewedBy: spanId,
    claims,
    assignees,
    revision: sharedRevision(root.revision, revision),
    approvedOutput: new JsonText(shown.text),
    suggestions: latestOfEach([...root.suggestions, ...suggestions]),
    ...votes,
    reviewers: votes.reviewers ?? reviewers,
    truncated: [...root.truncated, ...(shown.isWhole ? [] : ['approvedOutput']), ...(isCut ? ['review.comment'] : [])],
  }
}

const NOT_APPROVED: ShownValue = { text: 'null', isWhole: true }

/** Each agent's last suggestion, oldest first. An agent may have suggested decisions on both spans of a pair. */
function latestOfEach(suggestions: readonly Suggestion[]): Suggestion[] {
  const sorted = suggestions.toSorted((left, right) => left.createdAt - right.createdAt)
  const latest = new Map(sorted.map(suggestion => [suggestion.userId, suggestion]))
  return sorted.filter(suggestion => latest.get(suggestion.userId) === suggestion)
}

/**
 * Returns a function that shows a root with the review it shares. Takes one more round trip if the output was
 * corrected, or two if agents suggested decisions or people voted. Undefined if an object is gone.
 */
export async function readShared(
  store: Store,
  rootId: string,
  shared: SharedReview | undefined,
  mode: ShownMode,
): Promise<((detail: SpanDetail) => SpanDetail) | undefined> {
  if (!shared) return detail => detail
  const values = hasOwnValues(shared) ? (await readValues(store, [[rootId, shared]], mode)).get(rootId) : NOTHING_SHARED
  return values && (detail => (detail.id === rootId ? withSharedReview(detail, shared, values, mode) : detail))
}

/**
 * Shows the roots among a page's spans with the reviews they share. Returns as many spans as still fit in a page, and
 * how many of the given spans that covers: a root is left out if its trace was purged in the meantime. Takes one round
 * trip and R2 reads for large values, and a few more round trips if outputs were corrected, agents suggested decisions,
 * or people voted.
 */
export async function showShared<Span extends SpanDetail>(
  store: Store,
  spans: readonly Span[],
  mode: PayloadMode,
  maxBytes: number = MAX_PAGE_VALUE_BYTES,
): Promise<{ shown: Span[]; count: number }> {
  const roots = spans.filter(({ parentId, review }) => parentId === null && !review).map(({ id }) => id)
  if (roots.length === 0) return { shown: [...spans], count: spans.length }
  const [rows] = await readPlain(store.database, [sharingSpans(store, isLocatedRoot(locatedSpans(store, roots)))])
  const sharedOf = chooseShared(store, rows)
  const withValues = roots.flatMap(id => {
    const shared = sharedOf.get(id)
    return shared && hasOwnValues(shared) ? [[id, shared] as const] : []
  })
  const valuesOf: Awaited<ReturnType<typeof readValues>> =
    withValues.length > 0 ? await readValues(store, withValues, mode) : new Map()
  const shown: Span[] = []
  let [count, bytes] = [0, 0]
  for (const span of spans) {
    const shared = sharedOf.get(span.id)
    const isUnread = shared && hasOwnValues(shared) && !valuesOf.has(span.id)
    const values = shared && (hasOwnValues(shared) ? valuesOf.get(span.id) : NOTHING_SHARED)
    bytes += shownLength(span) + (values?.approved?.text.length ?? 0)
    if ((isUnread && count > 0) || (bytes > maxBytes && shown.length > 0)) break
    if (!shared) shown.push(span)
    else if (values) shown.push({ ...span, ...withSharedReview(span, shared, values, mode) })
    count++
  }
  return { shown, count }
}

/** The length of a span's values as they're shown. */
export const shownLength = ({ input, output, approvedOutput, state, metadata }: SpanDetail): number =>
  [input, output, approvedOutput, metadata, ...Object.values(state)].reduce((sum, { text }) => sum + text.length, 0)

/** Whether the reviewed span has to be read to show the root. */
const hasOwnValues = ({ review, hasOpinions }: SharedReview): boolean => review?.state === 'corrected' || hasOpinions

/**
 * Reads what roots show of the spans that they're reviewed with: at least one root, and as many as fit on a page. Roots
 * that weren't read are missing. A root's values are undefined if an object is gone.
 */
async function readValues(
  store: Store,
  shared: readonly (readonly [rootId: string, shared: SharedReview])[],
  mode: ShownMode,
): Promise<Map<string, SharedValues | undefined>> {
  const ids = shared.flatMap(([rootId, { spanId }]) => [rootId, spanId])
  const spans = foldSpans(toLocatedRows(await readPlain(store.database, spanQueries(store, ids))))
  if (shared.length > 1 && spans.some(isAnyCut)) {
    return readValues(store, shared.slice(0, Math.floor(shared.length / 2)), mode)
  }
  const spanOf = new Map(spans.map(span => [span.row.id, span]))
  const pairs = shared.map(([rootId, { spanId, review }]) => ({
    rootId,
    review,
    root: spanOf.get(rootId),
    reviewed: spanOf.get(spanId),
  }))
  const sizes = pairs.map(({ root, reviewed }) =>
    [root?.output, reviewed?.output, reviewed?.approved].reduce((sum, value) => sum + (value ? lengthOf(value) : 0), 0),
  )
  const fitting = pairs.slice(0, countWithin(sizes))
  const outputs = await fetchOutputs(
    store,
    fitting.flatMap(({ root, reviewed }) => (root && reviewed ? [root, reviewed] : [])),
  )
  const found = fitting.map(({ root, reviewed, ...pair }) => {
    const [from, to] = [reviewed && outputs.get(reviewed), root && outputs.get(root)]
    return { ...pair, reviewed, forms: from === undefined || to === undefined ? undefined : { from, to } }
  })
  const opinions = await readSharedOpinions(store, found, mode)
  const values = new Map<string, SharedValues | undefined>()
  for (const { rootId, review, reviewed, forms } of found) {
    const isCorrected = review?.state === 'corrected'
    const approved = isCorrected && reviewed && forms ? await showApproved(store, reviewed, forms, mode) : NOT_APPROVED
    const isWhole = reviewed && forms && approved && opinions
    values.set(rootId, isWhole && { approved, ...(opinions.get(reviewed) ?? NO_OPINIONS) })
  }
  return values
}

/** The outputs of a root (`to`) and of the span that it's reviewed with, as JSON. */
export interface Forms {
  from: string
  to: string
}

/**
 * Reads the suggestions and votes on spans that roots are reviewed with, in the roots' form. Takes one round trip for
 * suggestions and one for votes, each only if there may be any. Undefined if an object is gone.
 */
export async function readSharedOpinions(
  store: Store,
  shared: readonly { reviewed: FoldedSpan | undefined; forms: Forms | undefined }[],
  mode: ShownMode,
): Promise<ReadonlyMap<FoldedSpan, Opinions> | undefined> {
  const pairs = shared.flatMap(({ reviewed, forms }) => (reviewed && forms ? [{ reviewed, forms }] : []))
  const reviewed = pairs.map(({ reviewed }) => reviewed)
  // Only a correction that was read in full can be converted.
  const [suggestions, votes] = await Promise.all([
    readSuggestions(store, reviewed, 'full'),
    readVotes(store, reviewed, 'full'),
  ])
  if (!suggestions || !votes) return undefined
  return new Map(
    pairs.map(({ reviewed, forms }) => {
      const { votes: cast, ...voting } = votes.get(reviewed) ?? NO_VOTES
      return [
        reviewed,
        {
          // A root leaves out suggestions that can't be converted to its form, but it shows every vote.
          suggestions: (suggestions.get(reviewed) ?? []).flatMap(each => inRootForm(each, forms, mode) ?? []),
          votes: cast.map(each => inRootForm(each, forms, mode) ?? inOwnForm(each, mode)),
          ...voting,
        },
      ]
    }),
  )
}

/**
 * Shows a correction in the root's form. If the output has changed since and the correction can't be converted anymore,
 * it keeps its own form. Undefined if an object is gone.
 */
export async function showApproved(
  store: Store,
  { approved }: FoldedSpan,
  forms: Forms,
  mode: ShownMode,
): Promise<ShownValue | undefined> {
  if (!approved) return undefined
  const json = approved.ref === null ? approved.text : (await fetchValues(store, [approved])).get(approved)
  if (json === undefined) return undefined
  const converted = approved.isCut ? undefined : inFormOf(json, forms)
  const value = converted === undefined ? approved : { ...approved, ref: null, text: converted }
  return (await showValues(store, [value], mode))?.get(value)
}

/** A suggestion or a vote. */
type Opinion = Pick<Suggestion, 'decision' | 'approvedOutput' | 'comment' | 'truncated'>

/** Shows an opinion on a span in the root's form. Undefined if its correction can't be converted to that form. */
function inRootForm<Given extends Opinion>(opinion: Given, forms: Forms, mode: ShownMode): Given | undefined {
  const { approvedOutput, decision, truncated } = opinion
  const isConvertible = decision === 'correct' && !truncated.includes('approvedOutput')
  const text = isConvertible ? inFormOf(approvedOutput.text, forms) : approvedOutput.text
  return text === undefined ? undefined : inOwnForm({ ...opinion, approvedOutput: new JsonText(text) }, mode)
}

/** Shows an opinion that was read in full. */
function inOwnForm<Given extends Opinion>(opinion: Given, mode: ShownMode): Given {
  const { approvedOutput, comment, truncated } = opinion
  const approved = showText(approvedOutput.text, mode)
  const cut = {
    approvedOutput: !approved.isWhole || truncated.includes('approvedOutput'),
    comment: isCommentCut(comment, mode) || truncated.includes('comment'),
  }
  return {
    ...opinion,
    approvedOutput: new JsonText(approved.text),
    comment: shownComment(comment, mode),
    truncated: (['approvedOutput', 'comment'] as const).filter(field => cut[field]),
  }
}
