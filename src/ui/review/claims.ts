import { createStore } from './store.ts'

/** The API calls for claims. */
export interface ClaimCalls {
  claim: (spanIds: string[]) => Promise<{ claimed: string[]; refused: string[] }>
  heartbeat: (spanIds: string[]) => Promise<{ held: string[]; lost: string[] }>
  /** `isLeaving` means that the page is closing. */
  release: (spanIds: string[], isLeaving: boolean) => Promise<unknown>
}

export interface Claims {
  /** Claims these spans and releases all others. */
  want: (spanIds: readonly string[]) => void
  /** Drops a claim after a review has ended it. */
  forget: (spanId: string) => void
  /** Tries again to claim a refused span. */
  reclaim: (spanId: string) => void
  heartbeat: () => void
  /** Releases all claims as the page closes. */
  leave: () => void
  /** Spans that someone else has claimed, or that no longer need a review. */
  refused: () => ReadonlySet<string>
  subscribe: (listener: () => void) => () => void
}

const NONE: ReadonlySet<string> = new Set()

/**
 * Claims the spans that a reviewer is working on. Makes one call at a time, so that claims and releases never overlap.
 */
export function createClaims({ claim, heartbeat, release }: ClaimCalls): Claims {
  const refused = createStore(NONE)
  const held = new Set<string>()
  let wanted: ReadonlySet<string> = NONE
  let isBusy = false

  const settle = async (): Promise<void> => {
    if (isBusy) return
    isBusy = true
    try {
      for (let isDone = false; !isDone; ) {
        const missing = [...wanted].filter(id => !held.has(id) && !refused.get().has(id))
        const surplus = [...held].filter(id => !wanted.has(id))
        isDone = missing.length === 0 && surplus.length === 0
        if (missing.length > 0) {
          const answer = await claim(missing)
          for (const id of answer.claimed) held.add(id)
          refused.change(ids => new Set([...ids, ...answer.refused]))
          if (answer.claimed.length + answer.refused.length === 0) isDone = true
        }
        if (surplus.length > 0) {
          for (const id of surplus) held.delete(id)
          await release(surplus, false)
        }
      }
    } catch {
      // Even if a claim fails, the etag catches conflicting reviews. The reviewer's next move retries the claim.
    } finally {
      isBusy = false
    }
  }

  const allow = (spanId: string) => refused.change(ids => new Set([...ids].filter(id => id !== spanId)))

  return {
    want: spanIds => {
      wanted = new Set(spanIds)
      settle()
    },
    forget: spanId => {
      held.delete(spanId)
      wanted = new Set([...wanted].filter(id => id !== spanId))
      allow(spanId)
    },
    reclaim: spanId => {
      allow(spanId)
      settle()
    },
    heartbeat: () => {
      if (held.size === 0) return
      heartbeat([...held]).then(
        ({ lost }) => {
          for (const id of lost) held.delete(id)
          settle()
        },
        () => undefined,
      )
    },
    leave: () => {
      const ids = [...held]
      held.clear()
      wanted = NONE
      refused.change(() => NONE)
      if (ids.length > 0) release(ids, true).catch(() => undefined)
    },
    refused: refused.get,
    subscribe: refused.subscribe,
  }
}
