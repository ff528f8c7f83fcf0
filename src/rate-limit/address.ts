import { rateLimited } from '../http/errors.ts'
import {
  ISOLATE_CACHE_ENTRIES,
  LOOK_UP_PAUSE_MS,
  MAX_FAILED_LOOK_UPS,
  MAX_OPEN_CALLS,
  PAUSED_LOOK_UPS_A_SECOND,
  STORE_DEADLINE_MS,
  WINDOW_SECONDS,
} from '../limits.ts'
import { IsolateCache } from '../store/core/isolate-cache.ts'

/*
 * What has no key can't be counted by key: it is counted by the address that it comes from, in the isolate alone. So strangers
 * cost no Durable Object, and what they may ask of D1 is bounded in each isolate that they reach.
 */

const WINDOW_MS = 1000 * WINDOW_SECONDS

/**
 * The address that a request counts for: what Cloudflare says, of IPv6 the 64 bits that one subscriber has. Where nothing
 * says it, as locally, all requests are from one.
 */
export function addressOf({ headers }: Request): string {
  const address = headers.get('cf-connecting-ip') ?? ''
  if (!address.includes(':')) return address
  const [start = '', end] = address.split('::')
  const groups = start.split(':')
  const zeros = end === undefined ? 0 : 8 - groups.length - end.split(':').length
  return [...groups, ...Array(Math.max(0, zeros)).fill('0'), ...(end ?? '').split(':')].slice(0, 4).join(':')
}

/** The look-ups that one address caused. Times are milliseconds since 1970. */
class LookUps {
  readonly #failedAt: number[] = []
  /** A time, not a count: what a request left undone when its client went away is never undone. */
  readonly #underWay = new Set<{ since: number }>()
  #pausedUntil = 0
  #second = 0
  #passed = 0

  /** Admits a look-up, which is under way until `end`. 429 while the address is paused and this second's are used up. */
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

  /** Those under way may all fail: many at once must not slip through before the first has failed. */
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
    return this.#passed++ < PAUSED_LOOK_UPS_A_SECOND
  }
}

const lookUpsByAddress = new IsolateCache<LookUps>(ISOLATE_CACHE_ENTRIES)

/**
 * What a look-up of a secret finds. One that finds nothing counts against the address; 429 where that has failed more than 60
 * times in a minute, but for 5 look-ups a second, and until 10 seconds after the last failure.
 */
export async function lookUpFor<Found>(
  address: string,
  lookUp: () => Promise<Found | undefined>,
  now: number,
): Promise<Found | undefined> {
  const lookUps = remembered(lookUpsByAddress, address, () => new LookUps())
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
 * Counts a call without a key that asks the database. 429 past what an address may make of it in a minute: of each endpoint apart,
 * because any page may have its visitors' browsers probe, but none may have them sign in.
 */
export function takeOpenCall(endpoint: string, address: string, now: number): void {
  const caller = `${endpoint} ${address}`
  const known = openCalls.get(caller)
  const window = known && now < known.since + WINDOW_MS ? known : { since: now, calls: 0 }
  if (window !== known) openCalls.set(caller, window)
  if (++window.calls > MAX_OPEN_CALLS) throw tooManyCalls('calls', MAX_OPEN_CALLS, window.since + WINDOW_MS - now)
}

function tooManyCalls(policy: string, limit: number, milliseconds: number) {
  const seconds = Math.max(1, Math.ceil(milliseconds / 1000))
  return rateLimited(seconds, {
    'ratelimit-policy': `"${policy}";q=${limit};w=${WINDOW_SECONDS}`,
    ratelimit: `"${policy}";r=0;t=${seconds}`,
  })
}

function remembered<Value>(cache: IsolateCache<Value>, key: string, make: () => Value): Value {
  const known = cache.get(key)
  if (known !== undefined) return known
  const made = make()
  cache.set(key, made)
  return made
}
