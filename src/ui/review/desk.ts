import { call } from '../api/client.ts'
import { type Claims, createClaims } from './claims.ts'
import { createDrafts, type Drafts } from './drafts.ts'
import { newSitting, type Sitting } from './sitting.ts'
import { createStore, type Store } from './store.ts'

/**
 * A reviewer's drafts, decisions, and claims. They outlive the page, so decisions still save after a reviewer leaves
 * it.
 */
export interface Desk {
  actorId: string
  drafts: Drafts
  sitting: Store<Sitting>
  claims: Claims
}

let current: Desk | undefined

/** The signed-in reviewer's desk. A different reviewer gets a new one. */
export function deskOf(actorId: string): Desk {
  if (current?.actorId !== actorId) {
    current = {
      actorId,
      drafts: createDrafts(browserStorage(), actorId),
      sitting: createStore(newSitting(Date.now())),
      claims: createClaims({
        claim: spanIds => post('claim', spanIds),
        heartbeat: spanIds => post('heartbeat', spanIds),
        release: (spanIds, isLeaving) => post('release', spanIds, isLeaving),
      }),
    }
  }
  return current
}

const post = <Answer>(act: string, spanIds: string[], keepalive = false): Promise<Answer> =>
  call<Answer>(`/api/review-queue/${act}`, { method: 'POST', body: { spanIds }, keepalive })

/** Some browsers throw on any access to storage. */
function browserStorage(): Storage | undefined {
  try {
    return localStorage
  } catch {
    return undefined
  }
}
