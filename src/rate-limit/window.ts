import {
  LEASE_SECONDS,
  LEASED_OUT_RETRY_SECONDS,
  MIN_LEASED_LIMIT,
  SHARES_PER_MINUTE,
  WINDOW_SECONDS,
} from '../limits.ts'

/** The tokens spent in one second: the second, counted from 1970, and the number of tokens. */
type Slot = readonly [second: number, tokens: number]

/**
 * Tokens that one isolate may spend unless it returns them. `until` is the last second in which it may spend them,
 * counted from 1970.
 */
interface Lease {
  id: number
  tokens: number
  until: number
}

/** The stored state of one key. */
export interface Count {
  spent: readonly Slot[]
  leases: readonly Lease[]
  /** The last lease's id. */
  leaseId: number
}

export const EMPTY_COUNT: Count = { spent: [], leases: [], leaseId: 0 }

/** An isolate's request for tokens. The isolate spends one of them immediately and returns its previous lease. */
export interface Ask {
  limit: number
  tokens: number
  returned?: { lease: number; spent: number }
}

/** The response to an `Ask`. */
export interface Grant {
  /** The number of tokens granted, including the one spent immediately. 0 means that the request is denied. */
  tokens: number
  /** The id of the lease on the other tokens, which lasts LEASE_SECONDS. 0 if there are no other tokens. */
  lease: number
  /** Tokens left for other isolates. */
  remaining: number
  /** Seconds until more tokens are free, at least 1. */
  resetSeconds: number
  /** How long a denial lasts, in seconds, at least 1: no token can become free earlier. */
  retrySeconds: number
}

/**
 * Decides how many tokens to grant. At most `limit` tokens are spent in any period of 60 seconds. Tokens are counted by
 * the second, and a second is forgotten only once all of it is more than 60 seconds old, so a token may become free up
 * to a second late. Until a lease is returned, all of its tokens are treated as spent at the lease's very end. Once
 * it's returned, only the tokens that were really spent count. They're treated as spent when the lease was returned or
 * when it ended, whichever came first.
 */
export function grant(count: Count, { limit, tokens, returned }: Ask, nowMs: number): { grant: Grant; count: Count } {
  // Old tokens must not become valid again if the clock is set back.
  const now = Math.max(Math.floor(nowMs / 1000), count.spent.at(-1)?.[0] ?? 0)
  const known = forget(giveBack(count, returned, now), now)
  const free = limit - sum(known.spent.map(([, tokens]) => tokens)) - sum(known.leases.map(({ tokens }) => tokens))
  if (free <= 0) return { grant: { tokens: 0, lease: 0, remaining: 0, ...timesOf(known, now) }, count: known }
  const granted = Math.min(tokens, share(known, limit, free, now))
  const next = lend({ ...known, spent: spend(known.spent, now, 1) }, granted - 1, now)
  const lease = granted > 1 ? next.leaseId : 0
  return {
    grant: { tokens: granted, lease, remaining: Math.max(0, free - granted), ...timesOf(next, now) },
    count: next,
  }
}

/**
 * One isolate's share of the free tokens: as large as any other holder's, but at least a fixed part of the limit.
 * Without that minimum, shares would keep shrinking, and each share would require another call. If the limit is small,
 * a share is one token, because an unspent token in one isolate would cause another isolate to deny a request.
 */
function share({ leases }: Count, limit: number, free: number, now: number): number {
  if (limit < MIN_LEASED_LIMIT) return 1
  const holders = leases.filter(({ until }) => until >= now).length + 1
  return Math.min(free, Math.max(1, Math.floor(free / holders), Math.floor(limit / SHARES_PER_MINUTE)))
}

function giveBack(count: Count, returned: Ask['returned'], now: number): Count {
  const lease = count.leases.find(({ id }) => id === returned?.lease)
  if (!lease || !returned) return count
  const spent = spend(count.spent, Math.min(now, lease.until), Math.min(returned.spent, lease.tokens))
  return { ...count, spent, leases: count.leases.filter(each => each !== lease) }
}

function forget(count: Count, now: number): Count {
  const isLive = (second: number) => second >= now - WINDOW_SECONDS
  return {
    ...count,
    spent: count.spent.filter(([second]) => isLive(second)),
    leases: count.leases.filter(({ until }) => isLive(until)),
  }
}

function lend(count: Count, tokens: number, now: number): Count {
  if (tokens === 0) return count
  const leaseId = count.leaseId + 1
  return { ...count, leaseId, leases: [...count.leases, { id: leaseId, tokens, until: now + LEASE_SECONDS }] }
}

/** Counts tokens as spent in a second, which isn't necessarily the last one in the list. */
function spend(spent: readonly Slot[], second: number, tokens: number): readonly Slot[] {
  if (tokens === 0) return spent
  const before = spent.filter(([each]) => each < second)
  const already = spent.find(([each]) => each === second)?.[1] ?? 0
  return [...before, [second, already + tokens], ...spent.filter(([each]) => each > second)]
}

function timesOf({ spent, leases }: Count, now: number): Pick<Grant, 'resetSeconds' | 'retrySeconds'> {
  const seconds = [...spent.map(([second]) => second), ...leases.map(({ until }) => until)]
  const resetSeconds = Math.min(...seconds) + WINDOW_SECONDS + 1 - now
  // An isolate may return a lease at any time.
  return { resetSeconds, retrySeconds: leases.length > 0 ? LEASED_OUT_RETRY_SECONDS : resetSeconds }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)
