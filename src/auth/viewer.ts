import { actorOf } from '../store/accounts/audit.ts'
import type { Viewer } from '../store/core/store.ts'
import type { Caller } from './authenticate.ts'

/**
 * What a caller may see under a blind review policy. Everybody who may vote is bound by it: all credentials of a user,
 * and keys without a user that may review. Other keys see everything, because they cast no votes.
 */
export const viewerOf = (caller: Pick<Caller, 'userId' | 'keyId' | 'scopes'>): Viewer => ({
  viewerId: actorOf(caller),
  isBlind: caller.userId !== null || caller.scopes.includes('review'),
})
