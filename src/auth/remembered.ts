import {
  EPOCHS_STALE_MS,
  ISOLATE_CACHE_ENTRIES,
  KEY_FRESH_MS,
  KEY_STALE_MS,
  KEY_UNKNOWN_MS,
  MAX_SECRET_LENGTH,
  REFRESH_TIMEOUT_MS,
  STORE_DEADLINE_MS,
} from '../limits.ts'
import { lookUpSecret } from '../rate-limit/address.ts'
import { Deadline, within } from '../store/core/deadline.ts'
import { IsolateCache } from '../store/core/isolate-cache.ts'
import { boundShards, openUnscopedStore, type UnscopedStore } from '../store/core/store.ts'
import type { Lookup } from './lookup.ts'

interface Entry<Found> {
  found: Found
  checkedAt: number
}

/** Looks up a credential in D1. */
type Find<Found> = (unscoped: UnscopedStore, credential: string, now: number) => Promise<Found | undefined>

/**
 * This isolate's cache of one kind of credential. The cache's keys are the secrets themselves, because hashing a secret
 * would take longer than the rest of a request's authentication.
 */
export class Remembered<Found> {
  readonly #entries = new IsolateCache<Entry<Found>>(ISOLATE_CACHE_ENTRIES)
  readonly #ended = new IsolateCache<true>(ISOLATE_CACHE_ENTRIES)
  readonly #unknown = new IsolateCache<number>(ISOLATE_CACHE_ENTRIES)
  readonly #find: Find<Found>
  readonly #isSecret: boolean

  /**
   * `isSecret` means that the credentials are random, so an unknown one was guessed or revoked and never becomes valid.
   * A lookup of such a credential counts against the address that sent it, and the result is cached.
   */
  constructor(find: Find<Found>, { isSecret }: { isSecret: boolean }) {
    this.#find = find
    this.#isSecret = isSecret
  }

  /**
   * Returns the identity behind a credential, or undefined if it's unknown. Looks it up again once the cached result is
   * stale. While D1 is slow or doesn't respond, a credential seen in the last ten minutes keeps working, because
   * clients don't retry a 401; an unknown one gets a 503. With shards, the ten minutes are only 45 seconds, because
   * the credential comes with the epochs that say where traces are. The lookup continues after the response, so a slow
   * D1 doesn't keep a revoked credential alive. 429 if an address that guesses credentials sends one that isn't cached.
   */
  async get(
    credential: string,
    { env, waitUntil, address, deadline, now }: Omit<Lookup, 'request' | 'requestId'>,
  ): Promise<Found | undefined> {
    if (this.#ended.get(credential)) return undefined
    const known = this.#entries.get(credential)
    const age = known ? now - known.checkedAt : Number.POSITIVE_INFINITY
    if (!known || age > (boundShards(env).length > 0 ? EPOCHS_STALE_MS : KEY_STALE_MS)) {
      if (now < (this.#unknown.get(credential) ?? 0)) return undefined
      const lookUp = () => this.#lookUp(credential, openUnscopedStore(env, deadline), now)
      return known || !this.#isSecret ? lookUp() : lookUpSecret(address, lookUp, now)
    }
    if (age < KEY_FRESH_MS) return known.found
    // The lookup has its own deadline, because it may take longer than the request.
    const refresh = this.#lookUp(credential, openUnscopedStore(env, new Deadline(STORE_DEADLINE_MS)), now)
    try {
      return await within(REFRESH_TIMEOUT_MS, () => refresh)
    } catch {
      waitUntil(refresh.catch(() => undefined))
      return known.found
    }
  }

  /** Invalidates a credential in this isolate, whatever a pending lookup returns. */
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
