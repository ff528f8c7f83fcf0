/** Random bytes as lowercase hex. `randomUUID` wouldn't work: browsers offer it only on secure pages. */
const randomHex = (bytes: number): string => hexOf(crypto.getRandomValues(new Uint8Array(bytes)))

const hexOf = (bytes: Uint8Array): string => Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')

/** A new `trace_id`: `trace_` and 22 lowercase hex characters. */
export const newTraceId = (): string => `trace_${randomHex(11)}`

/** A new random UUID (version 4). */
export const newUuid = (): string => uuidOf(randomHex(16), 4)

/** Formats hex as a UUID: its version and variant replace six bits. */
export function uuidOf(hex: string, version: number): string {
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16)
  const digits = `${hex.slice(0, 12)}${version}${hex.slice(13, 16)}${variant}${hex.slice(17, 32)}`
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
