const REMEMBERED = 'countersign.traces'

/** Where a reader left the list: its address and how far it was scrolled. */
interface ListPlace {
  /** The address's query, without `?`. */
  query: string
  /** Pixels. */
  offset: number
}

export const rememberPlace = (place: ListPlace): void => sessionStorage.setItem(REMEMBERED, JSON.stringify(place))

/** Where the list was left last in this tab; null: it was not looked at yet. */
export function rememberedPlace(): ListPlace | null {
  const text = sessionStorage.getItem(REMEMBERED)
  return text === null ? null : JSON.parse(text)
}

/** The list as it was left. */
export function listAddress(): string {
  const place = rememberedPlace()
  return place ? `/traces?${place.query}` : '/traces'
}
