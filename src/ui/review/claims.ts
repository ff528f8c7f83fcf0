import { createStore } from './store.ts'

/** The three calls about claims, by the ids that they take and answer. */
export interface ClaimCalls {
  claim: (spanIds: string[]) => Promise<{ claimed: string[]; refused: string[] }>
  heartbeat: (spanIds: string[]) => Promise<{ held: string[]; lost: string[] }>
  /** `isLeaving`: the page is going away. */
  release: (spanIds: string[], isLeaving: boolean) => Promise<unknown>
}

export interface Claims {
  /** Holds these and gives back all others. */
  want: (spanIds: readonly string[]) => void
  /** A review ended its claim, or is about to. */
  forget: (spanId: string) => void
  /** Asks again for one that was refused. */
  askAgain: (spanId: string) => void
  heartbeat: () => void
  /** Gives back everything at once, while the page goes away. */
  leave: () => void
  /** Those that somebody else holds, or that need no review any more. */
  refused: () => ReadonlySet<string>
  subscribe: (listener: () => void) => () => void
}

const NONE: ReadonlySet<string> = new Set()

/** Holds the spans that a reviewer has before them. One call at a time, so that a claim and a release never cross. */
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
      // Without a claim two reviewers may meet on a span, which its etag tells them. The next move asks again.
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
    askAgain: spanId => {
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
