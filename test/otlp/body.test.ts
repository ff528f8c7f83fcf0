import { describe, it } from 'vitest'
import { MAX_EXPORT_BYTES } from '../../src/limits.ts'
import { readExport } from '../../src/otlp/body.ts'
import { compressed, zstdSpaces } from '../support/compressed.ts'
import { recorded, unpacked } from '../support/recorded.ts'

const bytes = new TextEncoder().encode('{"resourceSpans":[]}'.padEnd(100_000))

const stream = (parts: Iterable<Uint8Array>): ReadableStream<Uint8Array> => {
  const left = parts[Symbol.iterator]()
  return new ReadableStream({
    pull(controller) {
      const { done, value } = left.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
  })
}

const request = (body: Uint8Array | ReadableStream<Uint8Array> | null, headers: Record<string, string> = {}) =>
  new Request('https://example.com/v1/traces', { method: 'POST', body, headers })

/** Yields `count` MiB of zeros. */
function* zeros(count: number) {
  const piece = new Uint8Array(1024 * 1024)
  for (let index = 0; index < count; index++) yield piece
}

const gzip = await compressed('gzip', bytes)
const deflate = await compressed('deflate', bytes)
const zstd = await compressed('zstd', bytes)
const rawDeflate = await compressed('deflate-raw', bytes)

describe('the body of an export', () => {
  it.for([
    ['no encoding', {}, bytes],
    ['identity', { 'content-encoding': 'identity' }, bytes],
    ['gzip', { 'content-encoding': 'gzip' }, gzip],
    ['GZIP', { 'content-encoding': ' GZIP ' }, gzip],
    ['x-gzip', { 'content-encoding': 'x-gzip' }, gzip],
    ['deflate', { 'content-encoding': 'deflate' }, deflate],
    ['zstd', { 'content-encoding': 'zstd' }, zstd],
  ] as const)('is read with %s', async ([, headers, body], { expect }) => {
    expect(await readExport(request(body, headers))).toEqual(bytes)
    expect(await readExport(request(stream([body.subarray(0, 7), body.subarray(7)]), headers))).toEqual(bytes)
  })

  it.for(['gzip', 'deflate', 'zstd', 'identity'])('may be missing with %s', async (encoding, { expect }) => {
    expect(await readExport(request(null, { 'content-encoding': encoding }))).toEqual(new Uint8Array())
  })

  it('is read from each recorded request', async ({ expect }) => {
    for (const recording of recorded()) {
      expect(await readExport(request(recording.bytes, recording.headers))).toEqual(await unpacked(recording))
    }
  })

  it.for(['br', 'compress', 'gzip, gzip', 'identity, gzip', '__proto__', 'constructor'])(
    'gets a 415 for %s',
    async (encoding, { expect }) => {
      await expect(readExport(request(bytes, { 'content-encoding': encoding }))).rejects.toMatchObject({ status: 415 })
    },
  )

  it.for([
    ['plain bytes as gzip', 'gzip', bytes],
    ['plain bytes as deflate', 'deflate', bytes],
    ['gzip as deflate', 'deflate', gzip],
    ['deflate as gzip', 'gzip', deflate],
    ['raw deflate as deflate', 'deflate', rawDeflate],
    ['an empty body as gzip', 'gzip', new Uint8Array()],
    ['bytes after the gzip data', 'gzip', new Uint8Array([...gzip, 1, 2, 3])],
    ['zeros after the gzip data', 'gzip', new Uint8Array([...gzip, 0, 0, 0])],
    ['bytes after the deflate data', 'deflate', new Uint8Array([...deflate, 1, 2, 3])],
    ['a wrong checksum', 'gzip', gzip.with(-5, 0)],
    ['plain bytes as zstd', 'zstd', bytes],
    ['gzip as zstd', 'zstd', gzip],
    ['zstd as gzip', 'gzip', zstd],
    ['an empty body as zstd', 'zstd', new Uint8Array()],
    ['bytes after the zstd data', 'zstd', new Uint8Array([...zstd, 1, 2, 3])],
    ['zeros after the zstd data', 'zstd', new Uint8Array([...zstd, 0, 0, 0])],
    ['a second frame of zstd', 'zstd', new Uint8Array([...zstd, ...zstd])],
    [
      'zstd with a dictionary',
      'zstd',
      new Uint8Array([...zstd.subarray(0, 4), 1, 7 << 3, 5, ...zstdSpaces(1).subarray(6)]),
    ],
  ] as const)('gets a 400 for %s', async ([, encoding, body], { expect }) => {
    const compressedRequest = request(stream([body]), { 'content-encoding': encoding })
    await expect(readExport(compressedRequest)).rejects.toMatchObject({ status: 400 })
  })

  it.for(['gzip', 'deflate', 'zstd'] as const)('gets a 400 for truncated %s data', async (format, { expect }) => {
    const body = await compressed(format, bytes)
    for (let length = 1; length < body.length; length++) {
      const compressedRequest = request(body.subarray(0, length), { 'content-encoding': format })
      await expect(readExport(compressedRequest), `${length} of ${body.length}`).rejects.toMatchObject({ status: 400 })
    }
  })

  it.for(['gzip', 'deflate'] as const)(
    'gets a 413 for %s data that inflates to 200 MB, without buffering it',
    async (format, { expect }) => {
      const packed = stream(zeros(200)).pipeThrough(new CompressionStream(format))
      const bomb = new Uint8Array(await new Response(packed).arrayBuffer())
      expect(bomb.length).toBeLessThan(MAX_EXPORT_BYTES / 50)
      const compressedRequest = request(bomb, { 'content-encoding': format })
      await expect(readExport(compressedRequest)).rejects.toMatchObject({ status: 413 })
    },
  )

  it('gets a 413 for zstd data that inflates to 10 GB, without buffering it', async ({ expect }) => {
    const compressedRequest = request(zstdSpaces(80_000), { 'content-encoding': 'zstd' })
    await expect(readExport(compressedRequest)).rejects.toMatchObject({ status: 413 })
  })

  it('may have a zstd window of 8 MiB, but not a larger one', async ({ expect }) => {
    const read = (windowLog: number) => readExport(request(zstdSpaces(1, windowLog), { 'content-encoding': 'zstd' }))
    expect((await read(23)).byteLength).toBe(128 * 1024)
    for (const windowLog of [24, 27, 31]) await expect(read(windowLog)).rejects.toMatchObject({ status: 400 })
  })

  it('gets a 413 if it is endless', async ({ expect }) => {
    let sent = 0
    const endless = stream(
      (function* () {
        for (;;) {
          sent++
          yield new Uint8Array(1024 * 1024)
        }
      })(),
    )
    await expect(readExport(request(endless))).rejects.toMatchObject({ status: 413 })
    expect(sent).toBeLessThan(24)
  })

  it('gets a 413 because of its content-length alone', async ({ expect }) => {
    const headers = { 'content-length': String(MAX_EXPORT_BYTES + 1) }
    for (const encoding of ['identity', 'gzip']) {
      const compressedRequest = request(bytes, { ...headers, 'content-encoding': encoding })
      await expect(readExport(compressedRequest)).rejects.toMatchObject({ status: 413 })
    }
  })

  it('may reach the limit but not exceed it, even with a smaller content-length', async ({ expect }) => {
    for (const encoding of ['identity', 'gzip'] as const) {
      for (const excess of [0, 1]) {
        const whole = new Uint8Array(MAX_EXPORT_BYTES + excess)
        const body = encoding === 'gzip' ? await compressed('gzip', whole) : whole
        const read = readExport(request(stream([body]), { 'content-encoding': encoding, 'content-length': '5' }))
        if (excess) await expect(read).rejects.toMatchObject({ status: 413 })
        else expect((await read).length).toBe(MAX_EXPORT_BYTES)
      }
    }
    const blocks = MAX_EXPORT_BYTES / 128 / 1024
    const inflated = (count: number) => readExport(request(zstdSpaces(count), { 'content-encoding': 'zstd' }))
    expect((await inflated(blocks)).length).toBe(MAX_EXPORT_BYTES)
    await expect(inflated(blocks + 1)).rejects.toMatchObject({ status: 413 })
  })
})
