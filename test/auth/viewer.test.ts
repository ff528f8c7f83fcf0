import { expect, test } from 'vitest'
import { viewerOf } from '../../src/auth/viewer.ts'

test('applies blind policies to users and keys that may review, but not to adjudicators or other keys', () => {
  const isBlind = (userId: string | null, scopes: readonly ('read' | 'review' | 'manage')[], isAdjudicator = false) =>
    viewerOf({ userId, keyId: 'key', scopes, isAdjudicator }).isBlind
  expect(isBlind('ann', ['read'])).toBe(true)
  expect(isBlind('ann', ['read', 'review', 'manage'], true)).toBe(false)
  expect(isBlind(null, ['read', 'review'])).toBe(true)
  expect(isBlind(null, ['read', 'manage'])).toBe(false)
})
