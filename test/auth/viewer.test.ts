import { expect, test } from 'vitest'
import { viewerOf } from '../../src/auth/viewer.ts'

test('binds users and keys that may review, but not other keys', () => {
  const keyId = 'key'
  expect(viewerOf({ userId: 'ann', keyId, scopes: ['read'] })).toEqual({ viewerId: 'ann', isBlind: true })
  expect(viewerOf({ userId: null, keyId, scopes: ['read', 'review'] })).toEqual({ viewerId: keyId, isBlind: true })
  expect(viewerOf({ userId: null, keyId, scopes: ['ingest', 'read', 'manage'] })).toEqual({
    viewerId: keyId,
    isBlind: false,
  })
})
