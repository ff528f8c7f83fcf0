import { useCallback, useEffect, useRef, useState } from 'react'
import { rememberedPlace, rememberPlace } from './list-place.ts'

/** Nearer to the top than this (pixels) nobody has scrolled. */
const TOP = 8

/** Where a reader is in the list with this address, which is kept for when they come back to it. */
export function useListPlace(address: string): {
  /** Pixels from the top at which the list begins. */
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
