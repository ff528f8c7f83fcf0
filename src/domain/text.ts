const encoder = new TextEncoder()

/** The length of a text in UTF-8 bytes. */
export const utf8Length = (text: string): number => encoder.encode(text).byteLength

/** The longest beginning of a text that fits `maxBytes` of UTF-8 and cuts no character in two. */
export function cutText(text: string, maxBytes: number): string {
  // A UTF-16 unit is at least one byte, so no more units than that can fit.
  const bytes = encoder.encode(text.slice(0, maxBytes)).subarray(0, maxBytes)
  // Streaming, the decoder keeps back a character that is not complete instead of replacing it.
  return new TextDecoder().decode(bytes, { stream: true })
}
