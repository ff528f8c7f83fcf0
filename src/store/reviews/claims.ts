import { and, eq, gt, gte, lte, type SQL, sql } from 'drizzle-orm'
import { CLAIM_MS } from '../../limits.ts'
import type { Project } from '../accounts/projects.ts'
import { policyOf } from '../core/review-policy.ts'
import { isFree, isReviewedWithOther, isUnreviewed } from '../core/reviewable.ts'
import { selectFor } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { reviewClaims } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { isLocated, locatedSpans } from '../spans/located-rows.ts'
import { hasPlaceFor } from './votes.ts'

/*
 * A claim reserves a span for one reviewer: a user, or a key that acts for no user. It ends by timeout, by release, or
 * with a review. The span's row has one claim. If several people review the span, it can have more, which are rows of
 * `review_claims`. Each operation is one batch, and D1 runs one batch at a time, so no more claims win than there are
 * places.
 */

/** Who claims which spans, and when. */
export interface ClaimRequest {
  holder: string
  /** Whether the holder decides alone. */
  isAdjudicator: boolean
  /** Only this project's spans may be claimed. Null: any of the organization's. */
  project: Project | null
  spanIds: readonly string[]
  now: number
}

/**
 * Claims the reviewable spans that are unclaimed or already the holder's, or that more people may review. Returns their
 * ids.
 */
export async function claimSpans(store: Store, request: ClaimRequest): Promise<string[]> {
  const { holder, isAdjudicator, now } = request
  const isOwnRow = isOwn(request, gt(reviewClaims.until, now))
  const projectKey = sql`(select own.project_key from ${traces} own where own.key = ${spans.traceKey})`
  const { reviewers } = policyOf(projectKey, spans.stepId)
  const isOpen = and(
    isUnreviewed,
    sql`not ${isReviewedWithOther}`,
    isAdjudicator ? undefined : hasPlaceFor(holder, now, reviewers),
  )
  const claimedUntil = now + CLAIM_MS
  const [, inRows, others] = await store.database.batch([
    // A new claim takes the place of claims that have ended, so their rows are no longer needed.
    store.database.delete(reviewClaims).where(and(isOfSpans(store, request), lte(reviewClaims.until, now))),
    store.database
      .update(spans)
      .set({ claimedBy: holder, claimedUntil, reviewers: sql`nullif(${reviewers}, 1)` })
      .where(and(isAmong(store, request), isFree(holder, now), sql`not ${isOwnRow}`, isOpen))
      .returning({ id: spans.id }),
    store.database
      .insert(reviewClaims)
      .select(
        selectFor(
          reviewClaims,
          { traceKey: spans.traceKey, spanId: spans.id, userId: holder, until: claimedUntil },
          sql`from ${spans} where ${and(
            isAmong(store, request),
            isAdjudicator ? sql`false` : sql`(not ${isFree(holder, now)} or ${isOwnRow})`,
            isOpen,
          )}`,
        ),
      )
      .onConflictDoUpdate({
        target: [reviewClaims.traceKey, reviewClaims.spanId, reviewClaims.userId],
        set: { until: claimedUntil },
      })
      .returning({ id: reviewClaims.spanId }),
  ])
  return inOrder(request, [...inRows, ...others])
}

/** Renews the holder's claims that haven't expired. Returns their ids. */
export const renewClaims = (store: Store, request: ClaimRequest): Promise<string[]> =>
  updateOwn(store, request, request.now + CLAIM_MS, gt)

/**
 * Ends the holder's claims. Returns the ids of the claims that hadn't expired. A retry at the same time returns the
 * same ids.
 */
export const releaseClaims = (store: Store, request: ClaimRequest): Promise<string[]> =>
  updateOwn(store, request, request.now, gte)

/** Changes the end of the holder's claims if their current end is after `now` or, with `gte`, at `now`. */
async function updateOwn(store: Store, request: ClaimRequest, until: number, isAfter: typeof gt | typeof gte) {
  const { holder, now } = request
  const [inRows, others] = await store.database.batch([
    store.database
      .update(spans)
      .set({ claimedUntil: until })
      .where(and(isAmong(store, request), eq(spans.claimedBy, holder), isAfter(spans.claimedUntil, now)))
      .returning({ id: spans.id }),
    store.database
      .update(reviewClaims)
      .set({ until })
      .where(and(eq(reviewClaims.userId, holder), isAfter(reviewClaims.until, now), isOfSpans(store, request)))
      .returning({ id: reviewClaims.spanId }),
  ])
  return inOrder(request, [...inRows, ...others])
}

/** Whether the holder has a row of `review_claims` for the current span. */
const isOwn = ({ holder }: ClaimRequest, condition: SQL): SQL =>
  sql`exists (select 1 from ${reviewClaims} where ${reviewClaims.traceKey} = ${spans.traceKey}
    and ${reviewClaims.spanId} = ${spans.id} and ${reviewClaims.userId} = ${holder} and ${condition})`

/** Whether the current row of `review_claims` is on a span that the request names. */
const isOfSpans = (store: Store, request: ClaimRequest): SQL =>
  sql`(${reviewClaims.traceKey}, ${reviewClaims.spanId}) in (
    select ${spans.traceKey}, ${spans.id} from ${spans} where ${isAmong(store, request)})`

/** Whether the current span is one that the request names. */
function isAmong(store: Store, { project, spanIds }: ClaimRequest): SQL | undefined {
  const ofProject =
    project &&
    sql`${spans.traceKey} in (select ${traces.key} from ${traces}
      where ${traces.key} = ${spans.traceKey} and ${traces.projectKey} = ${project.key})`
  return and(isLocated(locatedSpans(store, spanIds)), ofProject ?? undefined)
}

/** The requested ids that are among the rows. */
function inOrder({ spanIds }: ClaimRequest, rows: readonly { id: string }[]): string[] {
  const updated = new Set(rows.map(({ id }) => id))
  return [...new Set(spanIds)].filter(id => updated.has(id))
}
