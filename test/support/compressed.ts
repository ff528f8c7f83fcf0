import { zstdCompressSync } from 'node:zlib'

export type Compression = 'gzip' | 'deflate' | 'deflate-raw' | 'zstd'

/** Compresses bytes as a client would. */
export async function compressed(format: Compression, bytes: Uint8Array): Promise<Uint8Array> {
  if (format === 'zstd') return zstdCompressSync(bytes)
  const packed = new Blob([bytes]).stream().pipeThrough(new CompressionStream(format))
  return new Uint8Array(await new Response(packed).arrayBuffer())
}

/**
 * A zstd frame (RFC 8878) made of 4-byte blocks, each of which decompresses to 128 KiB of spaces. `windowLog` is the
 * base-2 logarithm of the frame's window size.
 */
export function zstdSpaces(blocks: number, windowLog = 17): Uint8Array {
  const magic = [0x28, 0xb5, 0x2f, 0xfd]
  const block = (isLast: boolean) => {
    const header = (isLast ? 1 : 0) | (1 << 1) | ((128 * 1024) << 3)
    return [header & 0xff, (header >> 8) & 0xff, header >> 16, 0x20]
  }
  const rows = Array.from({ length: blocks }, (_, index) => block(index === blocks - 1))
  return new Uint8Array([...magic, 0, (windowLog - 10) << 3, ...rows.flat()])
}
