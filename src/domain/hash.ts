import { hash } from 'node:crypto'

/**
 * SHA-256 of a string's UTF-8, as 64 hex digits. `crypto.subtle` would take longer, because it resolves each digest in
 * a separate turn.
 */
export const sha256Hex = async (text: string): Promise<string> => hash('sha256', text, 'hex')

/** A name derived from a string's content: the first 32 hex digits of its SHA-256. */
export const contentName = async (text: string): Promise<string> => (await sha256Hex(text)).slice(0, 32)

const encoder = new TextEncoder()

const digest = async (text: string): Promise<Uint8Array> => encoder.encode(await sha256Hex(text))

/** Compares two strings in a time that doesn't reveal where they differ. */
export async function equalInConstantTime(left: string, right: string): Promise<boolean> {
  // timingSafeEqual throws on unequal lengths. Digests have the same length.
  return crypto.subtle.timingSafeEqual(await digest(left), await digest(right))
}
