import {
  ISOLATE_CACHE_ENTRIES,
  KEY_FRESH_MS,
  KEY_STALE_MS,
  KEY_UNKNOWN_MS,
  MAX_SECRET_LENGTH,
  REFRESH_TIMEOUT_MS,
  STORE_DEADLINE_MS,
} from '../limits.ts'
import { lookUpFor } from '../rate-limit/address.ts'
import { Deadline, within } from '../store/core/deadline.ts'
import { IsolateCache } from '../store/core/isolate-cache.ts'
import { openUnscopedStore, type UnscopedStore } from '../store/core/store.ts'
import type { Lookup } from './lookup.ts'

interface Entry<Found> {
  found: Found
  checkedAt: number
}

/** Asks D1 what a credential stands for. */
type Find<Found> = (unscoped: UnscopedStore, credential: string, now: number) => Promise<Found | undefined>

/**
 * What this isolate remembers of credentials of one kind, by the credentials themselves: hashing a secret for each request
 * would cost more than all else that is done to let it in.
 */
export class Remembered<Found> {
  readonly #entries = new IsolateCache<Entry<Found>>(ISOLATE_CACHE_ENTRIES)
  readonly #ended = new IsolateCache<true>(ISOLATE_CACHE_ENTRIES)
  readonly #unknown = new IsolateCache<number>(ISOLATE_CACHE_ENTRIES)
  readonly #find: Find<Found>
  readonly #isSecret: boolean

  /**
   * `isSecret`: whether the credentials are random, so that one that stands for nothing was guessed or is gone, and never
   * will again. Such look-ups count against the address that they come from, and their result is remembered.
   */
  constructor(find: Find<Found>, { isSecret }: { isSecret: boolean }) {
    this.#find = find
    this.#isSecret = isSecret
  }

  /**
   * What a credential stands for, looked up again when it is no longer fresh; undefined where it stands for nothing. While D1
   * is slow or silent one seen in the last ten minutes goes on: clients do not retry a 401, so a stall must not turn into
   * one; an unknown one gets 503. The look-up itself goes on after the answer, so that a slow D1 does not keep a revoked one
   * alive. 429 where an address that guesses names one that is not known here.
   */
  async get(
    credential: string,
    { env, waitUntil, address, deadline, now }: Omit<Lookup, 'request' | 'requestId'>,
  ): Promise<Found | undefined> {
    if (this.#ended.get(credential)) return undefined
    const known = this.#entries.get(credential)
    const age = known ? now - known.checkedAt : Number.POSITIVE_INFINITY
    if (!known || age > KEY_STALE_MS) {
      if (now < (this.#unknown.get(credential) ?? 0)) return undefined
      const lookUp = () => this.#lookUp(credential, openUnscopedStore(env, deadline), now)
      return known || !this.#isSecret ? lookUp() : lookUpFor(address, lookUp, now)
    }
    if (age < KEY_FRESH_MS) return known.found
    // Of a deadline of its own: what it spends after the answer is not the request's.
    const refresh = this.#lookUp(credential, openUnscopedStore(env, new Deadline(STORE_DEADLINE_MS)), now)
    try {
      return await within(REFRESH_TIMEOUT_MS, () => refresh)
    } catch {
      waitUntil(refresh.catch(() => undefined))
      return known.found
    }
  }

  /** From now on a credential stands for nothing here, whatever a look-up that is under way will say. */
  end(credential: string): void {
    this.#ended.set(credential, true)
    this.#entries.delete(credential)
  }

  async #lookUp(credential: string, unscoped: UnscopedStore, now: number): Promise<Found | undefined> {
    const found = await this.#find(unscoped, credential, now)
    if (found) this.#entries.set(credential, { found, checkedAt: now })
    else this.#forget(credential, now)
    return found
  }

  #forget(credential: string, now: number): void {
    this.#entries.delete(credential)
    if (this.#isSecret && credential.length <= MAX_SECRET_LENGTH) this.#unknown.set(credential, now + KEY_UNKNOWN_MS)
  }
}
