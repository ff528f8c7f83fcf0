import { type SQL, sql } from 'drizzle-orm'
import type { SelectResultFields } from 'drizzle-orm/query-builders/select.types'
import { JsonText } from '../../domain/json.ts'
import { chooseReviewed, inFormOf } from '../../domain/shared-text.ts'
import { MAX_SHARING_DEPTH, MAX_SHARING_SPANS } from '../../limits.ts'
import { named, readPlain } from '../core/database.ts'
import { sharesTextWith } from '../core/reviewable.ts'
import type { Store } from '../core/store.ts'
import { reviews } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'
import { fetchValues, type ShownMode, type ShownValue, showValues } from '../traces/payloads.ts'
import { foldSpans } from './fold-spans.ts'
import { spanQueries, toLocatedRows } from './located-rows.ts'
import { isCommentCut, revisionOf, type SpanDetail, type SpanReview, shownComment } from './span-detail.ts'
import { isLastDecision } from './span-fields.ts'
import { fetchOutputs } from './whole-outputs.ts'

/*
 * A root that has the text of a span below it isn't reviewed itself: it shows that span's review, in its own form. See
 * `domain/shared-text.ts`.
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
  state: sql<SpanReview['state'] | null>`${reviews.state}`.as('state'),
  userId: sql<string | null>`${reviews.userId}`.as('userId'),
  createdAt: sql<number | null>`${reviews.createdAt}`.as('createdAt'),
  comment: sql<string | null>`${reviews.comment}`.as('comment'),
  errorType: sql<string | null>`${reviews.errorType}`.as('errorType'),
}

type SharingRow = SelectResultFields<typeof sharingFields>

/**
 * Selects up to `MAX_SHARING_SPANS` spans that have the same text as their root, each with its last decision. `ofRoots`
 * is a condition on the alias `root`.
 */
export const sharingSpans = ({ database }: Store, ofRoots: SQL) =>
  database
    .select(sharingFields)
    // Limit the rows before looking up the rest: a loop can repeat a text many times.
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
}

/** Chooses the span whose review each root shows, keyed by the root's id. */
export function chooseShared(rows: readonly SharingRow[]): Map<string, SharedReview> {
  const ofRoot = Map.groupBy(rows, ({ rootId }) => rootId)
  return new Map(
    [...ofRoot].flatMap(([rootId, sharing]) => {
      const chosen = chooseReviewed(sharing)
      return chosen ? [[rootId, toShared(chosen)]] : []
    }),
  )
}

const toShared = ({ id, outputRevision, ...row }: SharingRow): SharedReview => {
  const { state, userId, createdAt, comment, errorType, isStale } = row
  const isReviewed = state !== null && userId !== null && createdAt !== null
  return {
    spanId: id,
    revision: revisionOf({ outputRevision, row }),
    review: isReviewed ? { state, userId, createdAt, comment, errorType, isStale: isStale === 1 } : undefined,
  }
}

/** Combines a root's revision with that of the span whose review it shows. */
export const sharedRevision = (root: string, reviewed: string): string => `${root}+${reviewed}`

/** Shows a root with the review of another span. `approved` is the corrected output in the root's form. */
export function withSharedReview(
  root: SpanDetail,
  { spanId, revision, review }: SharedReview,
  approved: ShownValue | undefined,
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
    revision: sharedRevision(root.revision, revision),
    approvedOutput: new JsonText(shown.text),
    truncated: [...root.truncated, ...(shown.isWhole ? [] : ['approvedOutput']), ...(isCut ? ['review.comment'] : [])],
  }
}

const NOT_APPROVED: ShownValue = { text: 'null', isWhole: true }

/**
 * Returns the function that shows a root with the review it shares. Takes one more round trip if the text was
 * corrected. Undefined if an object is gone.
 */
export async function readShared(
  store: Store,
  rootId: string,
  shared: SharedReview | undefined,
  mode: ShownMode,
): Promise<((detail: SpanDetail) => SpanDetail) | undefined> {
  if (!shared) return detail => detail
  const approved = shared.review?.state === 'corrected' ? await readApproved(store, rootId, shared, mode) : NOT_APPROVED
  return approved && (detail => (detail.id === rootId ? withSharedReview(detail, shared, approved, mode) : detail))
}

/**
 * Reads a correction in the root's form. If the output has changed since and the correction no longer fits, it keeps
 * the form it was made in.
 */
async function readApproved(
  store: Store,
  rootId: string,
  { spanId }: SharedReview,
  mode: ShownMode,
): Promise<ShownValue | undefined> {
  const rows = toLocatedRows(await readPlain(store.database, spanQueries(store, [rootId, spanId])))
  const spans = foldSpans(rows)
  const outputs = await fetchOutputs(store, spans)
  const [root, reviewed] = [rootId, spanId].map(id => spans.find(({ row }) => row.id === id))
  const [to, from] = [root && outputs.get(root), reviewed && outputs.get(reviewed)]
  const found = reviewed?.approved
  if (!reviewed || !found || to === undefined || from === undefined) return undefined
  const json = found.ref === null ? found.text : (await fetchValues(store, [found])).get(found)
  if (json === undefined) return undefined
  const converted = found.isCut ? undefined : inFormOf(json, { from, to })
  const value = converted === undefined ? found : { ...found, ref: null, text: converted }
  return (await showValues(store, [value], mode))?.get(value)
}
