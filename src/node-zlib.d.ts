/**
 * The parts of Node's zlib that the Worker uses. Node's full types would declare globals that the Worker doesn't have.
 */
declare module 'node:zlib' {
  interface Options {
    /** The output's maximum size. Exceeding it throws a RangeError. */
    maxOutputLength?: number
    finishFlush?: number
    /** Parameters for zstd's decoder, keyed by constant. */
    params?: Record<number, number>
    info: true
  }
  interface Inflated {
    buffer: Uint8Array
    /** `bytesWritten` counts the input bytes that were consumed. */
    engine: { bytesWritten: number }
  }
  export function gunzipSync(bytes: Uint8Array, options: Options): Inflated
  export function inflateSync(bytes: Uint8Array, options: Options): Inflated
  export function zstdDecompressSync(bytes: Uint8Array, options: Options): Inflated
  export const constants: {
    readonly Z_SYNC_FLUSH: number
    readonly ZSTD_e_flush: number
    readonly ZSTD_d_windowLogMax: number
  }
}
