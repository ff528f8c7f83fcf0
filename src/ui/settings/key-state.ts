import type { ApiKeys } from '../api/wire.ts'

export type ApiKey = ApiKeys['apiKeys'][number]

/** A key's state. An `ending` key works until `at`. */
export type KeyState =
  | { state: 'active' }
  | { state: 'ending'; at: string }
  | { state: 'expired'; at: string }
  | { state: 'revoked'; at: string }

/** A key's state at a time in milliseconds since 1970. */
export function keyState({ revokedAt, expiresAt }: Pick<ApiKey, 'revokedAt' | 'expiresAt'>, now: number): KeyState {
  if (revokedAt !== null && Date.parse(revokedAt) <= now) return { state: 'revoked', at: revokedAt }
  if (expiresAt !== null && Date.parse(expiresAt) <= now) return { state: 'expired', at: expiresAt }
  if (revokedAt !== null) return { state: 'ending', at: revokedAt }
  return { state: 'active' }
}

/** Whether a key still works. */
export const isAlive = ({ state }: KeyState): boolean => state === 'active' || state === 'ending'
