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
 * A claim reserves a span for one reviewer: a user, or a key that acts for no user. A claim ends when it times out,
 * when its holder releases it, or when its holder reviews the span. The span's row stores one claim. If several people
 * review the span, it can have more claims, which are rows of `review_claims`. Each operation is one batch, and D1 runs
 * one batch at a time, so a span never has more claims than places.
 */

/** Who claims which spans, and when. */
export interface ClaimRequest {
  holder: string
  /** Whether the holder decides alone. */
  isAdjudicator: boolean
  /** The project whose spans may be claimed. Null: every project in the organization. */
  project: Project | null
  spanIds: readonly string[]
  now: number
}

/**
 * Claims the requested spans that need review and are unclaimed, claimed by the holder, or open to more reviewers.
 * Returns the ids of the claimed spans.
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
    // Claims that have ended no longer take up a place, so their rows can be deleted.
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

/** Renews the holder's claims that haven't expired. Returns the ids of their spans. */
export const renewClaims = (store: Store, request: ClaimRequest): Promise<string[]> =>
  updateOwn(store, request, request.now + CLAIM_MS, gt)

/**
 * Ends the holder's claims. Returns the ids of the spans whose claims hadn't expired. A retry with the same `now`
 * returns the same ids.
 */
export const releaseClaims = (store: Store, request: ClaimRequest): Promise<string[]> =>
  updateOwn(store, request, request.now, gte)

/** Changes when the holder's claims end. Skips claims that ended before `now` and, if `isAfter` is `gt`, at `now`. */
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

/** Whether the holder has a row in `review_claims` for the current span. */
const isOwn = ({ holder }: ClaimRequest, condition: SQL): SQL =>
  sql`exists (select 1 from ${reviewClaims} where ${reviewClaims.traceKey} = ${spans.traceKey}
    and ${reviewClaims.spanId} = ${spans.id} and ${reviewClaims.userId} = ${holder} and ${condition})`

/** Whether the current row of `review_claims` belongs to one of the requested spans. */
const isOfSpans = (store: Store, request: ClaimRequest): SQL =>
  sql`(${reviewClaims.traceKey}, ${reviewClaims.spanId}) in (
    select ${spans.traceKey}, ${spans.id} from ${spans} where ${isAmong(store, request)})`

/** Whether the current span is one of the requested spans. */
function isAmong(store: Store, { project, spanIds }: ClaimRequest): SQL | undefined {
  const ofProject =
    project &&
    sql`${spans.traceKey} in (select ${traces.key} from ${traces}
      where ${traces.key} = ${spans.traceKey} and ${traces.projectKey} = ${project.key})`
  return and(isLocated(locatedSpans(store, spanIds)), ofProject ?? undefined)
}

/** The requested ids that occur in the rows, in the order of the request. */
function inOrder({ spanIds }: ClaimRequest, rows: readonly { id: string }[]): string[] {
  const updated = new Set(rows.map(({ id }) => id))
  return [...new Set(spanIds)].filter(id => updated.has(id))
}
