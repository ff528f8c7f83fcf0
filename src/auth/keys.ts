import type { HashedKey } from '../domain/api-key.ts'
import { sha256Hex } from '../domain/hash.ts'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SECRET_LENGTH = 24
const PREFIX_LENGTH = 8
const TOKEN_LENGTH = 32

export interface NewKey extends HashedKey {
  /** Shown once, stored nowhere. */
  secret: string
}

/** A fresh API key, `cs_<24 base62>`: 142 bits of randomness, so that a plain SHA-256 of it is safe to store. */
export async function makeKey(): Promise<NewKey> {
  const secret = `cs_${randomBase62(SECRET_LENGTH)}`
  return { secret, prefix: secret.slice(0, PREFIX_LENGTH), hash: await hashKey(secret) }
}

/** Whether a text may be such a secret: what may not be one needs no look-up. */
export const isKey = (text: string): boolean => /^cs_[0-9A-Za-z]{24}$/.test(text)

/** A fresh secret of a session or a sign-in link, 190 bits of randomness, and the hash by which it is stored. */
export async function makeToken(): Promise<Pick<NewKey, 'secret' | 'hash'>> {
  const secret = randomBase62(TOKEN_LENGTH)
  return { secret, hash: await hashKey(secret) }
}

/** Whether a text may be such a secret: what may not be one needs no look-up. */
export const isToken = (text: string): boolean => text.length === TOKEN_LENGTH && /^[0-9A-Za-z]+$/.test(text)

/** The hash by which a key is stored and found: SHA-256 in hex. */
export const hashKey = (secret: string): Promise<string> => sha256Hex(secret)

/** Bytes past the largest multiple of 62 are thrown away: the remainder alone would favor the first characters. */
function randomBase62(length: number): string {
  const unbiased = 256 - (256 % ALPHABET.length)
  let text = ''
  while (text.length < length) {
    for (const byte of crypto.getRandomValues(new Uint8Array(length))) {
      if (byte < unbiased && text.length < length) text += ALPHABET[byte % ALPHABET.length]
    }
  }
  return text
}
