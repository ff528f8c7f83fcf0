import { rateLimited } from '../http/errors.ts'
import {
  ISOLATE_CACHE_ENTRIES,
  LOOK_UP_PAUSE_MS,
  MAX_FAILED_LOOK_UPS,
  MAX_KEYLESS_CALLS,
  PAUSED_LOOK_UPS_PER_SECOND,
  STORE_DEADLINE_MS,
  WINDOW_SECONDS,
} from '../limits.ts'
import { IsolateCache } from '../store/core/isolate-cache.ts'

/*
 * Requests without a key are counted by address, separately in each isolate. So unknown callers don't cause calls to a
 * Durable Object, and each isolate limits the D1 queries that they can cause.
 */

const WINDOW_MS = 1000 * WINDOW_SECONDS

/**
 * The address to count a request by: `cf-connecting-ip`, but only the first 64 bits of an IPv6 address, because one
 * subscriber has all addresses that begin with them. If the header is missing, as in local development, all requests
 * share one address.
 */
export function addressOf({ headers }: Request): string {
  const address = headers.get('cf-connecting-ip') ?? ''
  if (!address.includes(':')) return address
  const [start = '', end] = address.split('::')
  const groups = start.split(':')
  const zeros = end === undefined ? 0 : 8 - groups.length - end.split(':').length
  return [...groups, ...Array(Math.max(0, zeros)).fill('0'), ...(end ?? '').split(':')].slice(0, 4).join(':')
}

/** The lookups from one address. Times are milliseconds since 1970. */
class LookUps {
  readonly #failedAt: number[] = []
  /** Start times instead of a count, because a request whose client disconnected may never call `end`. */
  readonly #underWay = new Set<{ since: number }>()
  #pausedUntil = 0
  #second = 0
  #passed = 0

  /**
   * Admits a lookup, which is in progress until `end`. 429 if the address is paused and has used up this second's
   * lookups.
   */
  begin(now: number): { since: number } {
    if (this.#isPaused(now) && !this.#passes(now)) {
      throw tooManyCalls('look-ups', MAX_FAILED_LOOK_UPS, this.#pausedUntil - now)
    }
    const lookUp = { since: now }
    this.#underWay.add(lookUp)
    return lookUp
  }

  end(lookUp: { since: number }): void {
    this.#underWay.delete(lookUp)
  }

  fail(now: number): void {
    this.#failedAt.push(now)
    if (this.#failedAt.length <= MAX_FAILED_LOOK_UPS) return
    const since = this.#failedAt.shift() ?? 0
    if (now < since + WINDOW_MS) this.#pausedUntil = now + LOOK_UP_PAUSE_MS
  }

  /** Counts lookups in progress as failed. Otherwise, many at once would pass before the first one fails. */
  #isPaused(now: number): boolean {
    if (now < this.#pausedUntil) return true
    for (const lookUp of this.#underWay) if (now >= lookUp.since + STORE_DEADLINE_MS) this.#underWay.delete(lookUp)
    const failed = this.#failedAt.filter(at => now < at + WINDOW_MS).length
    return failed + this.#underWay.size >= MAX_FAILED_LOOK_UPS
  }

  #passes(now: number): boolean {
    const second = Math.floor(now / 1000)
    if (second !== this.#second) this.#passed = 0
    this.#second = second
    return this.#passed++ < PAUSED_LOOK_UPS_PER_SECOND
  }
}

const lookUpsByAddress = new IsolateCache<LookUps>(ISOLATE_CACHE_ENTRIES)

/**
 * Looks up a secret. A miss counts against the address. After more than 60 misses in a minute, lookups get a 429 until
 * 10 seconds after the last miss, except for 5 lookups a second.
 */
export async function lookUpSecret<Found>(
  address: string,
  lookUp: () => Promise<Found | undefined>,
  now: number,
): Promise<Found | undefined> {
  const lookUps = getOrAdd(lookUpsByAddress, address, () => new LookUps())
  const begun = lookUps.begin(now)
  try {
    const found = await lookUp()
    if (found === undefined) lookUps.fail(now)
    return found
  } finally {
    lookUps.end(begun)
  }
}

const openCalls = new IsolateCache<{ since: number; calls: number }>(ISOLATE_CACHE_ENTRIES)

/**
 * Counts a call without a key to an endpoint that queries the database. 429 if the address exceeds its limit per
 * minute. Each endpoint has its own count: any page can make its visitors' browsers call a health probe, but that must
 * not keep them from signing in.
 */
export function takeKeylessCall(endpoint: string, address: string, now: number): void {
  const caller = `${endpoint} ${address}`
  const known = openCalls.get(caller)
  const window = known && now < known.since + WINDOW_MS ? known : { since: now, calls: 0 }
  if (window !== known) openCalls.set(caller, window)
  if (++window.calls > MAX_KEYLESS_CALLS) throw tooManyCalls('calls', MAX_KEYLESS_CALLS, window.since + WINDOW_MS - now)
}

function tooManyCalls(policy: string, limit: number, milliseconds: number) {
  const seconds = Math.max(1, Math.ceil(milliseconds / 1000))
  return rateLimited(seconds, {
    'ratelimit-policy': `"${policy}";q=${limit};w=${WINDOW_SECONDS}`,
    ratelimit: `"${policy}";r=0;t=${seconds}`,
  })
}

function getOrAdd<Value>(cache: IsolateCache<Value>, key: string, make: () => Value): Value {
  const known = cache.get(key)
  if (known !== undefined) return known
  const added = make()
  cache.set(key, added)
  return added
}
