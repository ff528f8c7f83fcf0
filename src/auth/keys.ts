import type { HashedKey } from '../domain/api-key.ts'
import { sha256Hex } from '../domain/hash.ts'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SECRET_LENGTH = 24
const PREFIX_LENGTH = 8
const TOKEN_LENGTH = 32

export interface NewKey extends HashedKey {
  /** Shown once and never stored. */
  secret: string
}

/** Creates an API key, `cs_<24 base62>`. It has 142 random bits, so storing its plain SHA-256 is safe. */
export async function makeKey(): Promise<NewKey> {
  const secret = `cs_${randomBase62(SECRET_LENGTH)}`
  return { secret, prefix: secret.slice(0, PREFIX_LENGTH), hash: await hashKey(secret) }
}

/** Whether a string has the form of a key. If it doesn't, there's no need to look it up. */
export const isKey = (text: string): boolean => /^cs_[0-9A-Za-z]{24}$/.test(text)

/** Creates the secret of a session or sign-in link, 190 random bits, and the hash to store. */
export async function makeToken(): Promise<Pick<NewKey, 'secret' | 'hash'>> {
  const secret = randomBase62(TOKEN_LENGTH)
  return { secret, hash: await hashKey(secret) }
}

/**
 * Whether a string has the form of the secret of a session or sign-in link. If it doesn't, there's no need to look it
 * up.
 */
export const isToken = (text: string): boolean => text.length === TOKEN_LENGTH && /^[0-9A-Za-z]+$/.test(text)

/** The hash under which a key is stored: SHA-256 in hex. */
export const hashKey = (secret: string): Promise<string> => sha256Hex(secret)

/** Discards bytes past the largest multiple of 62, because their remainders would favor the first characters. */
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
