import { call } from '../api/client.ts'
import { type Claims, createClaims } from './claims.ts'
import { createDrafts, type Drafts } from './drafts.ts'
import { newSitting, type Sitting } from './sitting.ts'
import { createStore, type Store } from './store.ts'

/** What a reviewer works with, beyond the life of a page: other pages may be looked at while a decision is on its way. */
export interface Desk {
  actorId: string
  drafts: Drafts
  sitting: Store<Sitting>
  claims: Claims
}

let current: Desk | undefined

/** The desk of whoever is signed in; another reviewer finds a fresh one. */
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

/** A browser may forbid it to the point of throwing where it is named. */
function browserStorage(): Storage | undefined {
  try {
    return localStorage
  } catch {
    return undefined
  }
}
