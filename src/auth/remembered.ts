import type { Runtime } from '../http/endpoint.ts'
import { ISOLATE_CACHE_ENTRIES, KEY_FRESH_MS, KEY_STALE_MS, REFRESH_PATIENCE_MS, STORE_PATIENCE_MS } from '../limits.ts'
import { IsolateCache } from '../store/isolate-cache.ts'
import { Patience, within } from '../store/patience.ts'
import { openRegistry, type Registry } from '../store/store.ts'
import { hashKey } from './keys.ts'

interface Entry<Found> {
  found: Found
  checkedAt: number
}

/**
 * What this isolate remembers of secrets of one kind, by the secrets themselves: hashing one for each request would cost more
 * than all else that is done to let it in.
 */
export class Remembered<Found> {
  readonly #entries = new IsolateCache<Entry<Found>>(ISOLATE_CACHE_ENTRIES)
  readonly #ended = new IsolateCache<true>(ISOLATE_CACHE_ENTRIES)
  readonly #find: (registry: Registry, hash: string) => Promise<Found | undefined>

  /** `find` asks D1 for what a secret of this hash stands for. */
  constructor(find: (registry: Registry, hash: string) => Promise<Found | undefined>) {
    this.#find = find
  }

  /**
   * What a secret stands for, looked up again when it is no longer fresh; undefined where it stands for nothing. While D1 is
   * slow or silent a secret seen in the last ten minutes goes on: clients do not retry a 401, so a stall must not turn into
   * one; an unknown one gets 503. The look-up itself goes on after the answer, so that a slow D1 does not keep a revoked
   * secret alive.
   */
  async get(
    secret: string,
    { env, waitUntil }: Pick<Runtime, 'env' | 'waitUntil'>,
    patience: Patience,
    now: number,
  ): Promise<Found | undefined> {
    if (this.#ended.get(secret)) return undefined
    const known = this.#entries.get(secret)
    const age = known ? now - known.checkedAt : Number.POSITIVE_INFINITY
    if (!known || age > KEY_STALE_MS) return this.#lookUp(secret, openRegistry(env, patience), now)
    if (age < KEY_FRESH_MS) return known.found
    // Of a patience of its own: what it spends after the answer is not the request's.
    const refresh = this.#lookUp(secret, openRegistry(env, new Patience(STORE_PATIENCE_MS)), now)
    try {
      return await within(REFRESH_PATIENCE_MS, () => refresh)
    } catch {
      waitUntil(refresh.catch(() => undefined))
      return known.found
    }
  }

  /** From now on a secret stands for nothing here, whatever a look-up that is under way will say. */
  end(secret: string): void {
    this.#ended.set(secret, true)
    this.#entries.delete(secret)
  }

  async #lookUp(secret: string, registry: Registry, now: number): Promise<Found | undefined> {
    const found = await this.#find(registry, await hashKey(secret))
    if (found) this.#entries.set(secret, { found, checkedAt: now })
    else this.#entries.delete(secret)
    return found
  }
}
