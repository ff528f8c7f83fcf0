import { useCallback, useEffect, useRef, useState } from 'react'
import { rememberedPlace, rememberPlace } from './list-place.ts'

/** Within this many pixels of the top, the list is treated as not scrolled. */
const TOP = 8

/** Remembers the scroll position in the list at this URL for when the reader comes back. */
export function useListPlace(address: string): {
  /** The initial scroll offset in pixels. */
  offset: number
  isAtTop: boolean
  onScroll: (offset: number) => void
} {
  const [offset] = useState(() => {
    const place = rememberedPlace()
    return place?.query === address ? place.offset : 0
  })
  const [isAtTop, setAtTop] = useState(offset < TOP)
  const now = useRef({ query: address, offset })
  now.current.query = address
  const onScroll = useCallback((scrolled: number) => {
    now.current.offset = scrolled
    setAtTop(scrolled < TOP)
  }, [])
  useEffect(() => () => rememberPlace(now.current), [])
  return { offset, isAtTop, onScroll }
}
