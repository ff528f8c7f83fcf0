/**
 * A bounded map that an isolate keeps between requests. Evicts the least recently used entry. A key must include its
 * organization unless the key itself is a secret.
 */
export class IsolateCache<Value> {
  readonly #entries = new Map<string, Value>()
  readonly #maxEntries: number

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries
  }

  get(key: string): Value | undefined {
    const value = this.#entries.get(key)
    if (value === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, value)
    return value
  }

  set(key: string, value: Value): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size <= this.#maxEntries) return
    const { value: oldest } = this.#entries.keys().next()
    if (oldest !== undefined) this.#entries.delete(oldest)
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }
}
