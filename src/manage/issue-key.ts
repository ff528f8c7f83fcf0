import type * as v from 'valibot'
import { makeKey, SCOPES } from '../auth/keys.ts'
import { newId } from '../domain/ids.ts'
import { type ApiKeyDraft, addApiKey } from '../store/api-keys.ts'
import type { Store } from '../store/store.ts'
import { type ApiKeyWithSecret, toApiKey } from './wire.ts'

/** Makes a key and stores it. The answer holds the secret, for the only time. */
export async function issueApiKey(store: Store, draft: ApiKeyDraft): Promise<v.InferOutput<typeof ApiKeyWithSecret>> {
  const newKey = await makeKey()
  const stored = await addApiKey(store, draft, newKey)
  return { ...toApiKey(stored), key: newKey.secret }
}

/** Makes a key that may do everything in its organization: what a new or locked-out organization gets. */
export const issueOwnerKey = (store: Store, now: number) =>
  issueApiKey(store, {
    id: newId(),
    name: 'Owner',
    project: null,
    userId: null,
    scopes: SCOPES,
    rateLimitPerMinute: null,
    expiresAt: null,
    createdAt: now,
  })
