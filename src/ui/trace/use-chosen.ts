import { useCallback } from 'react'
import { useSearchParams } from 'wouter'
import { isSection, type Place, placeOf, type Section } from './place.ts'

interface Chosen {
  /** The span that the address names; null: none. */
  spanId: string | null
  /** The part of its panel that was asked for. */
  section: Section | null
  /** A place in it to mark. */
  place: Place | undefined
  choose: (spanId: string) => void
  show: (section: Section) => void
  /** Goes to a place in the trace, from which Back leads back. */
  jump: (spanId: string, path: string) => void
}

/** What of a trace is looked at, which the address says. */
export function useChosen(): Chosen {
  const [address, setAddress] = useSearchParams()
  const section = address.get('section')
  const path = address.get('path')
  const place = path === null ? undefined : placeOf(path)
  const change = useCallback(
    (changes: Record<string, string | null>, replace: boolean) =>
      setAddress(
        current => {
          const next = new URLSearchParams(current)
          for (const [name, value] of Object.entries(changes)) {
            if (value === null) next.delete(name)
            else next.set(name, value)
          }
          return next
        },
        { replace },
      ),
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
