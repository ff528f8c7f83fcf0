import { type Caller, checkAdmin } from '../auth/authenticate.ts'
import type { Lookup } from '../auth/lookup.ts'
import { requireNoOtherOrigin, requireSameOrigin } from '../auth/same-origin.ts'
import { viewerOf } from '../auth/viewer.ts'
import type { Scope } from '../domain/api-key.ts'
import { forbidden } from '../http/errors.ts'
import { takeKeylessCall } from '../rate-limit/address.ts'
import type { Act } from '../store/accounts/audit.ts'
import type { Deadline } from '../store/core/deadline.ts'
import { type Organization, openStore, type StoreBindings } from '../store/core/store.ts'
import type { Contract } from './contract.ts'

/**
 * Admits a request, and returns what its handler may use. 401 if the credentials are invalid; 403 if the caller lacks
 * the scope or the page has a different origin; 404 if the deployment has no ADMIN_TOKEN; 429 if the address calls or
 * guesses too often.
 */
export async function admit(contract: Contract, authenticate: (lookup: Lookup) => Promise<Caller>, lookup: Lookup) {
  const { scope, method, path, managesSession = false, isForPrograms = false, isLimitedByAddress = false } = contract
  const { request, requestId, now } = lookup
  if (managesSession && method !== 'GET') requireSameOrigin(request)
  if (isForPrograms) requireNoOtherOrigin(request)
  if (isLimitedByAddress) takeKeylessCall(`${method} ${path}`, lookup.address, now)
  if (scope === 'public') return {}
  if (scope === 'admin') {
    await checkAdmin(lookup)
    const act: Act = { keyId: null, userId: null, requestId, at: now }
    return { act }
  }
  return admitCaller({ ...contract, scope }, await authenticate(lookup), lookup)
}

/** Admits a caller. 403 if it has none of the scopes. */
function admitCaller(
  { scope, isForAdjudicators = false }: { scope: Scope | readonly Scope[]; isForAdjudicators?: boolean },
  caller: Caller,
  { requestId, now }: Lookup,
) {
  const adjudicates = isForAdjudicators && caller.isAdjudicator && caller.scopes.includes('review')
  const accepted: readonly Scope[] = typeof scope === 'string' ? [scope] : scope
  if (!adjudicates && !accepted.some(each => caller.scopes.includes(each))) {
    throw forbidden(`${caller.keyId === null ? 'Your user' : 'This key'} lacks the ${accepted.join(' or ')} scope`)
  }
  const act: Act = { keyId: caller.keyId, userId: caller.userId, requestId, at: now }
  return { caller, act }
}

/** What an admitted request may open in these bindings: its caller's store or, with ADMIN_TOKEN, any store. */
export function openFor(access: Awaited<ReturnType<typeof admit>>, bindings: StoreBindings, deadline: Deadline) {
  if ('caller' in access) {
    const { caller } = access
    return { store: openStore(bindings, caller.organization, deadline, viewerOf(caller)) }
  }
  if ('act' in access) {
    return { openStore: (organization: Organization) => openStore(bindings, organization, deadline) }
  }
  return {}
}
