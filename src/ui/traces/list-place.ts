const REMEMBERED = 'countersign.traces'

/** Where a reader left the list: its URL and scroll offset. */
interface ListPlace {
  /** The URL's query, without `?`. */
  query: string
  /** Pixels. */
  offset: number
}

export const rememberPlace = (place: ListPlace): void => sessionStorage.setItem(REMEMBERED, JSON.stringify(place))

/** Where the list was left in this tab; null if it hasn't been opened. */
export function rememberedPlace(): ListPlace | null {
  const text = sessionStorage.getItem(REMEMBERED)
  return text === null ? null : JSON.parse(text)
}

/** The URL of the list as the reader left it. */
export function listAddress(): string {
  const place = rememberedPlace()
  return place ? `/traces?${place.query}` : '/traces'
}
