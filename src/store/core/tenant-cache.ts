interface Share<Value> {
  bytes: number
  entries: Map<string, { value: Value; bytes: number }>
}

/**
 * A map that an isolate keeps between requests, in which each tenant has a bounded share. When a share is full, the
 * tenant's own least recently used entry is evicted. When the cache is full, entries of the tenant that has gone
 * longest without using it are evicted. So no matter how many entries a tenant requests, it takes at most one share
 * from the others.
 */
export class TenantCache<Value> {
  readonly #maxBytes: number
  readonly #maxShareBytes: number
  /** Both the shares and the entries in each share are in order of use. */
  readonly #shares = new Map<string, Share<Value>>()
  #bytes = 0

  constructor({ maxBytes, maxShareBytes }: { maxBytes: number; maxShareBytes: number }) {
    this.#maxBytes = maxBytes
    this.#maxShareBytes = maxShareBytes
  }

  get(tenant: string, key: string): Value | undefined {
    const share = this.#shares.get(tenant)
    const entry = share?.entries.get(key)
    if (!share || !entry) return undefined
    moveToEnd(this.#shares, tenant, share)
    moveToEnd(share.entries, key, entry)
    return entry.value
  }

  /** Keeps a value that takes up `bytes`, unless it's larger than a share. */
  set(tenant: string, key: string, value: Value, bytes: number): void {
    const share: Share<Value> = this.#shares.get(tenant) ?? { bytes: 0, entries: new Map() }
    this.#drop(tenant, share, key)
    if (bytes > this.#maxShareBytes) return
    share.entries.set(key, { value, bytes })
    share.bytes += bytes
    this.#bytes += bytes
    moveToEnd(this.#shares, tenant, share)
    while (share.bytes > this.#maxShareBytes) this.#dropOldest(tenant, share)
    for (const [other, oldest] of this.#shares) {
      while (this.#bytes > this.#maxBytes && oldest.entries.size > 0) this.#dropOldest(other, oldest)
      if (this.#bytes <= this.#maxBytes) break
    }
  }

  /** Drops a tenant's entries. */
  delete(tenant: string): void {
    const share = this.#shares.get(tenant)
    if (!share) return
    this.#shares.delete(tenant)
    this.#bytes -= share.bytes
  }

  #dropOldest(tenant: string, share: Share<Value>): void {
    const { value: oldest } = share.entries.keys().next()
    if (oldest !== undefined) this.#drop(tenant, share, oldest)
  }

  #drop(tenant: string, share: Share<Value>, key: string): void {
    const entry = share.entries.get(key)
    if (!entry) return
    share.entries.delete(key)
    share.bytes -= entry.bytes
    this.#bytes -= entry.bytes
    if (share.entries.size === 0) this.#shares.delete(tenant)
  }
}

function moveToEnd<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key)
  map.set(key, value)
}
