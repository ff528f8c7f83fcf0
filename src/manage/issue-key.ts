import type * as v from 'valibot'
import { makeKey } from '../auth/keys.ts'
import { SCOPES } from '../domain/api-key.ts'
import { newId } from '../domain/ids.ts'
import { type ApiKeyDraft, addApiKey, newApiKey } from '../store/accounts/api-keys.ts'
import type { Act } from '../store/accounts/audit.ts'
import { addOrganization, type OrganizationDraft } from '../store/accounts/organizations.ts'
import type { Store, UnscopedStore } from '../store/core/store.ts'
import { type ApiKeyWithSecret, toApiKey } from './wire.ts'

/** A new key with its secret, which is never shown again. */
type IssuedKey = v.InferOutput<typeof ApiKeyWithSecret>

/** Creates and stores a key. */
export async function issueApiKey(store: Store, act: Act, draft: ApiKeyDraft): Promise<IssuedKey> {
  const newKey = await makeKey()
  const stored = await addApiKey(store, act, draft, newKey)
  return { ...toApiKey(stored), key: newKey.secret }
}

/** Creates a key with all scopes in its organization. It can also recover a locked-out organization. */
export const issueOwnerKey = (store: Store, act: Act): Promise<IssuedKey> => issueApiKey(store, act, ownerKey(act.at))

/** Creates an organization and a key with all scopes for it. Undefined if the slug is taken. */
export async function issueOrganization(
  unscoped: UnscopedStore,
  act: Act,
  organization: OrganizationDraft,
): Promise<IssuedKey | undefined> {
  const draft = ownerKey(organization.createdAt)
  const newKey = await makeKey()
  if (!(await addOrganization(unscoped, act, organization, draft, newKey))) return undefined
  return { ...toApiKey(newApiKey(draft, newKey.prefix)), key: newKey.secret }
}

const ownerKey = (now: number): ApiKeyDraft => ({
  id: newId(),
  name: 'Owner',
  project: null,
  userId: null,
  scopes: SCOPES,
  actsAs: 'person',
  rateLimitPerMinute: null,
  expiresAt: null,
  createdAt: now,
})
