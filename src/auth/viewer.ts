import { actorOf } from '../store/accounts/audit.ts'
import type { Viewer } from '../store/core/store.ts'
import type { Caller } from './authenticate.ts'

/**
 * What a caller may see under a blind review policy. The policy applies to everybody who may vote: users, with all
 * their credentials, and keys that may review but have no user. Adjudicators and other keys see everything, because
 * they cast no votes.
 */
export const viewerOf = (caller: Pick<Caller, 'userId' | 'keyId' | 'scopes' | 'isAdjudicator'>): Viewer => ({
  viewerId: actorOf(caller),
  isBlind: caller.userId === null ? caller.scopes.includes('review') : !caller.isAdjudicator,
})
