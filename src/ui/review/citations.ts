import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { sourcesQuery } from './queries.ts'

/** The ID of a source's element. */
export const idOfSource = (spanId: string, index: number): string => `source-${index}-of-${spanId}`

/** Strings in an output that cite a chunk, and what shows the chunk. */
export function useCitations(spanId: string): ReadonlyMap<string, () => void> {
  const { data } = useQuery(sourcesQuery(spanId))
  return useMemo(() => {
    const links = new Map<string, () => void>()
    for (const [index, { citedAs }] of (data?.chunks ?? []).entries()) {
      for (const citation of citedAs)
        if (!links.has(citation)) links.set(citation, () => show(idOfSource(spanId, index)))
    }
    return links
  }, [data, spanId])
}

function show(id: string): void {
  const element = document.getElementById(id)
  element?.scrollIntoView({ block: 'nearest' })
  element?.focus({ preventScroll: true })
}
