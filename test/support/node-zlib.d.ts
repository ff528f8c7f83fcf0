/** Beside what the Worker uses: src/node-zlib.d.ts. */
declare module 'node:zlib' {
  export function zstdCompressSync(bytes: Uint8Array): Uint8Array
}
