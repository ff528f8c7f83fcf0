import { and, eq, gt, gte, type SQL, sql } from 'drizzle-orm'
import { CLAIM_MS } from '../../limits.ts'
import type { Project } from '../accounts/projects.ts'
import { isFree, isReviewedWithOther, isUnreviewed } from '../core/reviewable.ts'
import type { Store } from '../core/store.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { isLocated, locatedSpans } from '../spans/located-rows.ts'

/*
 * A claim reserves a span for one reviewer: a user, or a key that acts for no user. It ends by timeout, by release, or
 * with a review. Each operation is one statement, and D1 runs one at a time, so only one of two claims on a span wins.
 */

/** Who claims which spans, and when. */
export interface ClaimRequest {
  holder: string
  /** Only this project's spans may be claimed. Null: any of the organization's. */
  project: Project | null
  spanIds: readonly string[]
  now: number
}

/** Claims the reviewable spans that are unclaimed or already the holder's. Returns their ids. */
export const claimSpans = (store: Store, request: ClaimRequest): Promise<string[]> =>
  update(store, request, and(isUnreviewed, sql`not ${isReviewedWithOther}`, isFree(request.holder, request.now)), {
    claimedBy: request.holder,
    claimedUntil: request.now + CLAIM_MS,
  })

/** Renews the holder's claims that haven't expired. Returns their ids. */
export const renewClaims = (store: Store, request: ClaimRequest): Promise<string[]> =>
  update(store, request, isHeld(request), { claimedUntil: request.now + CLAIM_MS })

/**
 * Ends the holder's claims. Returns the ids of the claims that hadn't expired. A retry at the same time returns the
 * same ids.
 */
export const releaseClaims = (store: Store, request: ClaimRequest): Promise<string[]> =>
  update(store, request, and(eq(spans.claimedBy, request.holder), gte(spans.claimedUntil, request.now)), {
    claimedUntil: request.now,
  })

const isHeld = ({ holder, now }: ClaimRequest): SQL | undefined =>
  and(eq(spans.claimedBy, holder), gt(spans.claimedUntil, now))

async function update(
  store: Store,
  { project, spanIds }: ClaimRequest,
  condition: SQL | undefined,
  changes: { claimedBy?: string; claimedUntil: number },
): Promise<string[]> {
  const ofProject =
    project &&
    sql`${spans.traceKey} in (select ${traces.key} from ${traces}
      where ${traces.key} = ${spans.traceKey} and ${traces.projectKey} = ${project.key})`
  const rows = await store.database
    .update(spans)
    .set(changes)
    .where(and(isLocated(locatedSpans(store, spanIds)), condition, ofProject ?? undefined))
    .returning({ id: spans.id })
  const updated = new Set(rows.map(({ id }) => id))
  return [...new Set(spanIds)].filter(id => updated.has(id))
}
