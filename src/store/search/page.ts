import type { SoughtText } from '../../domain/text-search.ts'
import { giveTurn, inPieces } from '../../domain/turns.ts'
import {
  MAX_MATCHES,
  MAX_SEARCHED_BYTES,
  SEARCHED_BYTES_AT_ONCE,
  SEARCHED_ROW_BYTES,
  STORE_ATTEMPT_MS,
} from '../../limits.ts'
import { mergePages } from '../core/across.ts'
import type { Store } from '../core/store.ts'
import type { Heads } from './heads.ts'
import { findIn, readTexts, type SpanTexts, sizeOf, type TextMatch } from './texts.ts'

/** The values of one item in a list, which are searched together. */
export interface Group<Item, Place> {
  item: Item
  texts: readonly SpanTexts[]
  /** Where to continue after these values. */
  end: Place
}

/** An item that isn't a hit, and which parts of it a search didn't read. */
export interface Missed<Item> {
  item: Item
  beginnings: number
  isLeftOut: boolean
}

/** Which parts of items that aren't hits a search didn't read. */
export interface Unsearched {
  /** How many values in R2 were searched only at their beginnings. */
  beginnings: number
  /** Whether any item has more values, observations, or comments than a search reads. */
  isLeftOut: boolean
}

/** One page of a search. Reads and searches values until the page has to end. */
export class SearchPage<Item, Place> {
  /** The items with a match, in the order of the list. */
  readonly hits = new Map<Item, TextMatch[]>()
  /** Where the search continues. Undefined until the search has begun. */
  end: Place | undefined
  #isOver = false
  readonly #store: Store
  readonly #sought: SoughtText
  readonly #limit: number
  readonly #beginnings = new Map<Item, number>()
  readonly #leftOut = new Set<Item>()
  /** The parents of the spans with a match. */
  readonly #parents = new Map<string, string | undefined>()
  #bytesLeft = MAX_SEARCHED_BYTES

  constructor(store: Store, sought: SoughtText, limit: number) {
    this.#store = store
    this.#sought = sought
    this.#limit = limit
  }

  /** Searches groups of values whose heads have been read. */
  async search(groups: readonly Group<Item, Place>[], { observations, comments, isLeftOut }: Heads): Promise<void> {
    this.#bytesLeft -= (observations.length + comments.length) * SEARCHED_ROW_BYTES
    const [first] = groups
    if (first && isLeftOut) this.#leftOut.add(first.item)
    for (const some of inPieces(groups, SEARCHED_BYTES_AT_ONCE, sizeOfGroup)) {
      if (!this.goesOn()) return
      const fitting = this.#takeFitting(some)
      const read = await readTexts(
        this.#store,
        fitting.flatMap(({ texts }) => texts),
      )
      for (const group of fitting) this.#searchGroup(group, read)
      this.#isOver ||= fitting.length < some.length
      // Let other requests run, even if D1 responds immediately.
      await giveTurn()
    }
  }

  /** Whether the page may read more. Call this only if there is more to read. */
  goesOn(): boolean {
    // A page that ends early is better than a 503.
    const isShortOfTime = this.#store.deadline.remainingMs() < STORE_ATTEMPT_MS
    const mustEnd = this.hits.size >= this.#limit || this.#bytesLeft <= 0 || isShortOfTime
    this.#isOver ||= mustEnd && this.end !== undefined
    return !this.#isOver
  }

  /** Whether the page ended before everything was searched. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** The groups that the page may still read: at least one on each page. */
  #takeFitting(groups: readonly Group<Item, Place>[]): Group<Item, Place>[] {
    const fitting: Group<Item, Place>[] = []
    for (const group of groups) {
      const bytes = sizeOfGroup(group)
      if (bytes > this.#bytesLeft && this.end !== undefined) break
      this.#bytesLeft -= bytes
      this.end = group.end
      fitting.push(group)
    }
    return fitting
  }

  #searchGroup({ item, texts }: Group<Item, Place>, read: Awaited<ReturnType<typeof readTexts>>): void {
    for (const each of texts) {
      const { matches, beginnings, isLeftOut } = findIn(each, read, this.#sought)
      if (beginnings > 0) this.#beginnings.set(item, (this.#beginnings.get(item) ?? 0) + beginnings)
      if (isLeftOut) this.#leftOut.add(item)
      if (matches.length === 0) continue
      this.#parents.set(each.spanId, each.parentId)
      this.hits.set(item, distinct([...(this.hits.get(item) ?? []), ...matches], this.#parents))
    }
  }

  get missed(): Missed<Item>[] {
    const items = new Set([...this.#beginnings.keys(), ...this.#leftOut])
    return [...items].flatMap(item => {
      if (this.hits.has(item)) return []
      return { item, beginnings: this.#beginnings.get(item) ?? 0, isLeftOut: this.#leftOut.has(item) }
    })
  }
}

/** A page of a search of one database, with the places of the items that it couldn't search completely. */
export interface FoundPage<Item, Place> {
  items: Item[]
  nextPlace: Place | null
  missed: Missed<Place>[]
}

/** Merges a page of a search from each database. */
export function mergeFound<Item, Place>(
  pages: readonly FoundPage<Item, Place>[],
  order: { limit: number; placeOf: (item: Item) => Place; compare: (one: Place, other: Place) => number },
): { items: Item[]; nextPlace: Place | null } & Unsearched {
  const { items, nextPlace } = mergePages(pages, order)
  // The next page searches the other items again.
  const isOnPage = ({ item }: Missed<Place>) => nextPlace === null || order.compare(item, nextPlace) <= 0
  const missed = pages.flatMap(page => page.missed).filter(each => pages.length === 1 || isOnPage(each))
  return {
    items,
    nextPlace,
    beginnings: missed.reduce((sum, { beginnings }) => sum + beginnings, 0),
    isLeftOut: missed.some(each => each.isLeftOut),
  }
}

/** How much of a page's limit a group uses up. */
export const sizeOfGroup = ({ texts }: Group<unknown, unknown>): number =>
  texts.reduce((sum, each) => sum + sizeOf(each), 0)

type Parents = ReadonlyMap<string, string | undefined>

/** The first matches. A pipeline's steps often pass on the same text, so repeated matches are shown only once. */
function distinct(matches: readonly TextMatch[], parents: Parents): TextMatch[] {
  const repeated = Map.groupBy(matches, ({ field, snippet }) => `${field} ${snippet}`)
  return [...repeated.values()].flatMap(some => origin(some, parents) ?? []).slice(0, MAX_MATCHES)
}

/** For an output, the match in the step that wrote it, rather than in a step above that only passes it on. */
function origin(repeated: readonly TextMatch[], parents: Parents): TextMatch | undefined {
  const above = new Set(repeated.map(({ spanId }) => parents.get(spanId)))
  const isOrigin = ({ spanId }: TextMatch) => parents.get(spanId) !== undefined && !above.has(spanId)
  const [first] = repeated
  return first?.field === 'output' ? (repeated.find(isOrigin) ?? first) : first
}
