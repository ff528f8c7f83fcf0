import { and, eq, gt, gte, type SQL, sql } from 'drizzle-orm'
import { CLAIM_MS } from '../../limits.ts'
import type { Project } from '../accounts/projects.ts'
import { isFree, isUnreviewed } from '../core/reviewable.ts'
import type { Store } from '../core/store.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { isAmong, locatedSpans } from '../spans/located-spans.ts'

/*
 * A claim holds a span for one reviewer: a user, or a key that acts for none. It ends with time, by release, or with a
 * review. One statement each, of a database that runs one at a time: what two claim at once is one's.
 */

/** Who claims what. */
export interface ClaimRequest {
  holder: string
  /** Only spans of this one are claimed. Null: any of the organization's. */
  project: Project | null
  spanIds: readonly string[]
  now: number
}

/** Claims those that are to be reviewed and free, or the holder's already. Returns their ids. */
export const claimSpans = (store: Store, request: ClaimRequest): Promise<string[]> =>
  update(store, request, and(isUnreviewed, isFree(request.holder, request.now)), {
    claimedBy: request.holder,
    claimedUntil: request.now + CLAIM_MS,
  })

/** Renews the holder's claims that have not run out. Returns their ids. */
export const renewClaims = (store: Store, request: ClaimRequest): Promise<string[]> =>
  update(store, request, isHeld(request), { claimedUntil: request.now + CLAIM_MS })

/** Ends the holder's claims. Returns the ids of those that had not run out; a second attempt finds them ended just now. */
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
    .where(and(isAmong(locatedSpans(store, spanIds)), condition, ofProject ?? undefined))
    .returning({ id: spans.id })
  const updated = new Set(rows.map(({ id }) => id))
  return [...new Set(spanIds)].filter(id => updated.has(id))
}
