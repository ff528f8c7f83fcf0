/** Functions that only tests use, in addition to those in src/node-zlib.d.ts. */
declare module 'node:zlib' {
  export function zstdCompressSync(bytes: Uint8Array): Uint8Array
}
