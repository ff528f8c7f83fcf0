import { hex } from './hex.ts'

const encoder = new TextEncoder()

const sha256 = (text: string): Promise<ArrayBuffer> => crypto.subtle.digest('SHA-256', encoder.encode(text))

/** SHA-256 of a string's UTF-8, as 64 hex digits. */
export const sha256Hex = async (text: string): Promise<string> => hex(new Uint8Array(await sha256(text)))

/** A name derived from a string's content: the first 32 hex digits of its SHA-256. */
export const contentName = async (text: string): Promise<string> => (await sha256Hex(text)).slice(0, 32)

/** Compares two strings in a time that doesn't reveal where they differ. */
export async function equalInConstantTime(left: string, right: string): Promise<boolean> {
  // timingSafeEqual throws on unequal lengths. Digests have the same length.
  const [a, b] = await Promise.all([sha256(left), sha256(right)])
  return crypto.subtle.timingSafeEqual(a, b)
}
