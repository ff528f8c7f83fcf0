import { useEffect } from 'react'
import { useDesk } from './use-desk.ts'

const HEARTBEAT_MS = 5 * 60_000

/** Claims these spans while the page is open. */
export function useClaims(spanIds: readonly string[]): void {
  const { claims, drafts } = useDesk()
  const wanted = spanIds.join()
  useEffect(() => claims.want(wanted === '' ? [] : wanted.split(',')), [claims, wanted])
  useEffect(() => {
    const heart = setInterval(claims.heartbeat, HEARTBEAT_MS)
    const leave = () => {
      drafts.flush()
      claims.leave()
    }
    addEventListener('pagehide', leave)
    return () => {
      clearInterval(heart)
      removeEventListener('pagehide', leave)
      leave()
    }
  }, [claims, drafts])
}
