const encoder = new TextEncoder()

const hex = (buffer: ArrayBuffer) =>
  Array.from(new Uint8Array(buffer), byte => byte.toString(16).padStart(2, '0')).join('')

/** SHA-256 of a text's UTF-8, as 64 hex digits. */
export async function sha256Hex(text: string): Promise<string> {
  return hex(await crypto.subtle.digest('SHA-256', encoder.encode(text)))
}

/** Whether two texts are equal, in a time that says nothing about where they differ. */
export async function equalInConstantTime(left: string, right: string): Promise<boolean> {
  const [a, b] = await Promise.all([left, right].map(text => crypto.subtle.digest('SHA-256', encoder.encode(text))))
  // timingSafeEqual throws on unequal lengths; digests always have one.
  return a !== undefined && b !== undefined && crypto.subtle.timingSafeEqual(a, b)
}

/** The length of a text in UTF-8 bytes. */
export const utf8Length = (text: string): number => encoder.encode(text).byteLength
