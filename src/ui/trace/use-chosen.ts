import { useCallback } from 'react'
import { useSearchParams } from 'wouter'
import { withParameters } from '../parts/parameters.ts'
import { isSection, type Place, placeOf, type Section } from './place.ts'

interface Chosen {
  /** The span in the URL; null if none. */
  spanId: string | null
  /** The section in the URL. */
  section: Section | null
  /** The place to mark. */
  place: Place | undefined
  choose: (spanId: string) => void
  show: (section: Section) => void
  /** Goes to a place in the trace, and adds a history entry so that the reader can come back. */
  jump: (spanId: string, path: string) => void
}

/** The selected span, section, and place. The URL contains all three. */
export function useChosen(): Chosen {
  const [address, setAddress] = useSearchParams()
  const section = address.get('section')
  const path = address.get('path')
  const place = path === null ? undefined : placeOf(path)
  const change = useCallback(
    (changes: Record<string, string | null>, replace: boolean) => setAddress(withParameters(changes), { replace }),
    [setAddress],
  )
  const choose = useCallback((spanId: string) => change({ span: spanId, path: null }, true), [change])
  const show = useCallback((chosen: Section) => change({ section: chosen, path: null }, true), [change])
  const jump = useCallback(
    (spanId: string, to: string) => change({ span: spanId, path: to, section: placeOf(to)?.section ?? null }, false),
    [change],
  )
  return {
    spanId: address.get('span'),
    section: place?.section ?? (isSection(section) ? section : null),
    place,
    choose,
    show,
    jump,
  }
}
