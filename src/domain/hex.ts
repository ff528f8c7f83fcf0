const BYTES_AS_HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/** Bytes as lowercase hex. */
export function hex(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += BYTES_AS_HEX[byte]
  return text
}
