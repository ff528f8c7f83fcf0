/** What the Worker uses of Node's zlib. All of Node's types would declare globals that the Worker doesn't have. */
declare module 'node:zlib' {
  interface Options {
    /** What the output may take; a RangeError past it. */
    maxOutputLength?: number
    finishFlush?: number
    info: true
  }
  interface Inflated {
    buffer: Uint8Array
    /** `bytesWritten` counts the bytes of the input that were used. */
    engine: { bytesWritten: number }
  }
  export function gunzipSync(bytes: Uint8Array, options: Options): Inflated
  export function inflateSync(bytes: Uint8Array, options: Options): Inflated
  export const constants: { readonly Z_SYNC_FLUSH: number }
}
