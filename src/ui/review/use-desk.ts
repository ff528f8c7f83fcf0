import { createContext, useCallback, useContext, useSyncExternalStore } from 'react'
import type { Desk } from './desk.ts'
import { type Draft, newDraft } from './drafts.ts'
import type { Sitting } from './sitting.ts'

const DeskContext = createContext<Desk | null>(null)

export const DeskProvider = DeskContext.Provider

export function useDesk(): Desk {
  const desk = useContext(DeskContext)
  if (!desk) throw new Error('useDesk needs a DeskProvider')
  return desk
}

export function useSitting(): Sitting {
  const { sitting } = useDesk()
  return useSyncExternalStore(sitting.subscribe, sitting.get)
}

/** The IDs of refused claims. */
export function useRefused(): ReadonlySet<string> {
  const { claims } = useDesk()
  return useSyncExternalStore(claims.subscribe, claims.refused)
}

/** A span's draft, if any, and how to change it. */
export function useDraft(spanId: string, etag: string) {
  const { drafts } = useDesk()
  const draft = useSyncExternalStore(drafts.subscribe, () => drafts.get(spanId))
  const write = useCallback(
    (change: Partial<Draft>) =>
      drafts.put(spanId, { ...(drafts.get(spanId) ?? newDraft(etag)), ...change, at: Date.now() }),
    [drafts, spanId, etag],
  )
  return { draft, write, isKept: drafts.isKept() }
}
