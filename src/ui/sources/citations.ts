import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { sourcesQuery } from './queries.ts'

/** The ID of a source's element. */
export const idOfSource = (spanId: string, index: number): string => `source-${index}-of-${spanId}`

/**
 * The names by which an output cites chunks, each with the action that shows its chunk. Empty until the sources are
 * loaded.
 */
export function useCitations(spanId: string, isShown = true): ReadonlyMap<string, () => void> {
  const { data } = useQuery({ ...sourcesQuery(spanId), enabled: isShown })
  return useMemo(() => {
    const links = new Map<string, () => void>()
    if (!isShown) return links
    for (const [index, { citedAs }] of (data?.chunks ?? []).entries()) {
      for (const citation of citedAs)
        if (!links.has(citation)) links.set(citation, () => show(idOfSource(spanId, index)))
    }
    return links
  }, [data, isShown, spanId])
}

function show(id: string): void {
  const element = document.getElementById(id)
  element?.scrollIntoView({ block: 'nearest' })
  element?.focus({ preventScroll: true })
}
