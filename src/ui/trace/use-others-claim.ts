import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { sessionQuery } from '../api/session.ts'
import type { Span } from '../api/wire.ts'

/** Another reviewer's claim on a span. Null once it has ended. */
export function useOthersClaim({ claim }: Span): Span['claim'] {
  const { data: session } = useQuery(sessionQuery)
  const [, setEnded] = useState<string>()
  const until = claim?.until
  useEffect(() => {
    if (until === undefined) return
    const timer = setTimeout(() => setEnded(until), Date.parse(until) - Date.now())
    return () => clearTimeout(timer)
  }, [until])
  const isOver = claim === null || Date.parse(claim.until) <= Date.now()
  return isOver || claim.heldBy === session?.actorId ? null : claim
}
