import { vi } from 'vitest'
import { client, type Org } from './org.ts'

const LIST = '/api/traces?projectSlug=support'

/** Stops this isolate's clock at the given time. */
export const setTime = (now: number) => vi.useFakeTimers({ toFake: ['Date'], now })

/** The status that a request with a key gets from this isolate, which may have cached the key. */
export const statusFor = async (key: string) => (await client({ 'x-api-key': key }).get(LIST)).status

/** Creates a key, and returns it with its secret. */
export const newKey = async (org: Org, fields: object = {}) => {
  const response = await org.owner.post('/api/api-keys', { name: 'CI', scopes: ['read'], ...fields })
  if (response.status !== 201) throw new Error(`creating a key returned ${response.status}`)
  return response.body
}

/** The key's entry in the list of keys. */
export const listed = async (org: Org, id: string) =>
  (await org.owner.get('/api/api-keys?limit=200')).body.apiKeys.find((each: { id: string }) => each.id === id)

export const keysIn = async (org: Org): Promise<{ id: string }[]> =>
  (await org.owner.get('/api/api-keys?limit=200')).body.apiKeys

export const rotate = (by: Pick<Org, 'owner'>, id: string, body?: object) =>
  by.owner.post(`/api/api-keys/${id}/rotate`, body)
