/** The part of Node's crypto that the Worker uses. See node-zlib.d.ts. */
declare module 'node:crypto' {
  /** Returns a digest of bytes, or of a string's UTF-8. */
  export function hash(algorithm: 'sha1' | 'sha256', data: string | Uint8Array, encoding: 'hex'): string
}
