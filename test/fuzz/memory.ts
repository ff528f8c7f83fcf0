/**
 * Remembers strings from a tenant's responses by normalized name, so that later requests can use them. A trace's `id`,
 * a `trace_id`, and a `traceId` all have a normalized name that ends in `traceid`.
 */
export class Memory {
  readonly #values = new Map<string, Set<string>>()
  readonly #uuids = new Set<string>()
  readonly #reserved: ReadonlySet<string>

  /** Requests never use the `reserved` strings, so that a tenant can't lock itself out. */
  constructor(reserved: readonly string[] = []) {
    this.#reserved = new Set(reserved)
  }

  /** Remembers every string in the response to a request to `path`. */
  learnFrom(path: string, body: unknown): void {
    this.learn(collectionsIn(path).join(''), body)
  }

  /** Remembers every string in the value of the field `holder`. */
  learn(holder: string, value: unknown): void {
    if (typeof value === 'string') {
      if (!this.#reserved.has(value)) this.#values.set(holder, (this.#values.get(holder) ?? new Set()).add(value))
    } else if (Array.isArray(value)) {
      for (const item of value) this.learn(singular(holder), item)
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, item] of Object.entries(value)) this.learn(holder + plain(name), item)
    }
  }

  /** The known values that fit, for the first of these meanings that has any. */
  known(meanings: readonly string[], fits: (value: string) => boolean): string[] {
    const knownBy = (meaning: string) =>
      [...this.#values].flatMap(([known, values]) => (known.endsWith(meaning) ? [...values].filter(fits) : []))
    return meanings.map(knownBy).find(({ length }) => length > 0) ?? []
  }

  /** Remembers every id in a string as the tenant's own. */
  own(text: string): void {
    for (const uuid of uuidsIn(text)) this.#uuids.add(uuid)
  }

  owns(uuid: string): boolean {
    return this.#uuids.has(uuid)
  }
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g

export const uuidsIn = (text: string): string[] => text.toLowerCase().match(UUID) ?? []

/** The collections in a path: `prompt` and `version` of `/api/prompts/{promptId}/versions`. */
const collectionsIn = (path: string): string[] =>
  path.split('/').flatMap(segment => (/^(?!api$|v\d+$)\w/.test(segment) ? singular(plain(segment)) : []))

/**
 * The possible meanings of a name in a path, most specific first. A span's `parent_span_id` is also a `spanid`. A
 * single letter is the id of the preceding resource in the path, so `b` in `/prompts/{promptId}/versions/{a}/diff/{b}`
 * is a `promptversionid`.
 */
export function meaningsOf(name: string, path: string): string[] {
  const collections = collectionsIn(path)
  if (name.length === 1) return collections.map((_, index) => `${collections.slice(0, -index || undefined).join('')}id`)
  const within = collections.map(collection => collection + plain(name))
  const words = name.split(/[_-]|(?=[A-Z])/)
  const wider = words.slice(0, -1).map((_, index) => plain(words.slice(index).join('')))
  return [...within, ...(words.length === 1 ? [name] : wider)]
}

/** Whether a name belongs to the path's own resource, such as the `slug` or `trace_id` in a call that creates it. */
export function isAbout(name: string, path: string): boolean {
  const subject = collectionsIn(path).at(-1) ?? ''
  return !/[_-]|[a-z][A-Z]/.test(name) || plain(name).startsWith(subject)
}

const plain = (name: string): string => name.replace(/[_-]/g, '').toLowerCase()
const singular = (name: string): string => name.replace(/s$/, '')
