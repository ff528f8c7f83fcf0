import { env } from 'cloudflare:workers'
import { beforeAll, describe, it } from 'vitest'
import type { Contract } from '../../src/api/contract.ts'
import { endpoints } from '../../src/app.ts'
import { utf8Length } from '../../src/domain/text.ts'
import { inflatedStart, startBytes } from '../../src/http/body.ts'
import {
  ENVELOPE_BYTES,
  MAX_BATCH_BYTES,
  MAX_BODY_BYTES,
  MAX_METADATA_BYTES,
  MAX_OBSERVATION_BYTES,
} from '../../src/limits.ts'
import { compressed, zstdSpaces } from '../support/compressed.ts'
import { type ApiResponse, newOrg, send } from '../support/org.ts'
import { newWorld, renew, sampleOf, type World } from '../support/samples.ts'
import { ORIGIN } from '../support/session.ts'
import { storedCounts } from '../support/stored.ts'

const contracts = endpoints
  .map(({ contract }) => [`${contract.method} ${contract.path}`, contract] as const)
  // OTLP paths read bodies differently; see test/otlp/body.test.ts.
  .filter(([, { body, family }]) => body !== undefined && family !== 'otlp')

const limitOf = ({ maxBytes }: Contract) => maxBytes ?? MAX_BODY_BYTES

let world: World
beforeAll(async () => {
  world = await newWorld(await newOrg())
})

/** How a body is sent: the headers that give its size, and whether it arrives in one chunk. */
type Framing = (size: number) => { headers: Record<string, string>; isChunked: boolean }
const framings: Readonly<Record<string, Framing>> = {
  'with content-length': size => ({ headers: { 'content-length': String(size) }, isChunked: false }),
  chunked: () => ({ headers: {}, isChunked: true }),
  'chunked, with a content-length that is too small': () => ({ headers: { 'content-length': '2' }, isChunked: true }),
  'chunked, with a content-length that is not a number': () => ({
    headers: { 'content-length': 'x' },
    isChunked: true,
  }),
}

/** Streams the bytes in chunks, none of which ends at the limit. */
function pieces(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let offset = 0
  return new ReadableStream({
    pull(controller) {
      if (offset >= bytes.byteLength) return controller.close()
      controller.enqueue(bytes.slice(offset, offset + 1_000_003))
      offset += 1_000_003
    },
  })
}

/** Whether a call works only once on its target, such as a rotation or a project's deletion. */
const isOnce = ({ method, path }: Contract) =>
  path.endsWith('/rotate') || (method === 'DELETE' && path === '/api/projects/{projectId}')

/** The test data with a fresh key, and with the spare project created again if it was deleted. */
const renewed = async (): Promise<World> => {
  const { owner } = world.org
  const { body: key } = await owner.post('/api/api-keys', { name: 'Spare', scopes: ['manage'] })
  const { status, body: project } = await owner.post('/api/projects', { slug: world.spareProject.slug, name: 'Spare' })
  return { ...world, keyId: key.id, ...(status === 201 && { spareProject: project }) }
}

async function post(contract: Contract, text: string, framing: Framing): Promise<ApiResponse> {
  const bytes = new TextEncoder().encode(text)
  return postBytes(contract, bytes, framing(bytes.byteLength))
}

async function postBytes(contract: Contract, bytes: Uint8Array, { headers, isChunked }: ReturnType<Framing>) {
  const keys = { admin: env.ADMIN_TOKEN, review: world.reviewerKey, other: world.org.ownerKey }
  const key = keys[contract.scope === 'admin' || contract.scope === 'review' ? contract.scope : 'other']
  if (isOnce(contract)) world = await renewed()
  return send(
    new Request(`https://countersign.test${sampleOf(contract).path(world)}`, {
      method: contract.method,
      headers: { authorization: `Bearer ${key}`, 'x-project-slug': 'support', origin: ORIGIN, ...headers },
      body: isChunked ? pieces(bytes) : bytes,
    }),
  )
}

/** A valid body with the given number of bytes, padded with trailing whitespace. */
const padded = (contract: Contract, size: number) => JSON.stringify(sampleOf(contract).body?.(world) ?? {}).padEnd(size)

/** A body with the given number of bytes, padded by an unknown field with 4-byte characters. */
function withUnknownField(contract: Contract, size: number): string {
  const text = JSON.stringify({ ...sampleOf(contract).body?.(world), surprise: '' })
  const room = size - utf8Length(text)
  return text.replace(/""}$/, () => `"${'😀'.repeat(Math.floor(room / 4))}${'x'.repeat(room % 4)}"}`)
}

describe.for(contracts)('the body of %s', ([, contract]) => {
  // The requests for an earlier contract may have deleted what this contract's requests refer to.
  beforeAll(async () => {
    world = await renew(world, sampleOf(contract))
  })

  const limit = limitOf(contract)
  const tooLarge = { error: contract.errors?.[413] ?? 'Request body too large', code: 'too_large' }

  it.for(Object.entries(framings))('is accepted up to exactly the limit, %s', async ([, framing], { expect }) => {
    for (const size of [limit - 1, limit]) {
      const response = await post(contract, padded(contract, size), framing)
      expect(statusesOfRead(contract), response.body.error).toContain(String(response.status))
    }
    const text = padded(contract, limit + 1)
    const before = isOnce(contract) ? undefined : await storedCounts()
    const rejected = await post(contract, text, framing)
    expect(rejected.status).toBe(413)
    expect(rejected.body).toMatchObject(tooLarge)
    if (before) expect(await storedCounts()).toEqual(before)
  })

  it('is measured in UTF-8 bytes', async ({ expect }) => {
    for (const size of [limit - 1, limit]) {
      const text = withUnknownField(contract, size)
      expect(utf8Length(text)).toBe(size)
      const response = await post(contract, text, () => ({ headers: {}, isChunked: true }))
      if (contract.path.startsWith('/api/v1/')) {
        expect(statusesOfRead(contract)).toContain(String(response.status))
      } else {
        expect(response.body.details).toEqual([{ path: 'surprise', message: 'is not recognized' }])
      }
    }
    const response = await post(contract, withUnknownField(contract, limit + 1), () => ({
      headers: {},
      isChunked: true,
    }))
    expect(response.status).toBe(413)
  })

  it('is rejected because of its content-length only if that exceeds the limit', async ({ expect }) => {
    const claiming = (size: number) => () => ({ headers: { 'content-length': String(size) }, isChunked: true })
    expect((await post(contract, padded(contract, 0), claiming(limit + 1))).status).toBe(413)
    const response = await post(contract, padded(contract, 0), claiming(limit))
    expect(statusesOfRead(contract)).toContain(String(response.status))
  })

  it('is not read past its limit', async ({ expect }) => {
    const piece = new Uint8Array(64 * 1024).fill(0x20)
    let sentBytes = 0
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sentBytes += piece.byteLength
        controller.enqueue(piece)
      },
    })
    const keys = { admin: env.ADMIN_TOKEN, review: world.reviewerKey, other: world.org.ownerKey }
    const key = keys[contract.scope === 'admin' || contract.scope === 'review' ? contract.scope : 'other']
    const response = await send(
      new Request(`https://countersign.test${sampleOf(contract).path(world)}`, {
        method: contract.method,
        headers: { authorization: `Bearer ${key}`, origin: ORIGIN },
        body: endless,
      }),
    )
    expect(response.status).toBe(413)
    // The stream reads ahead by a chunk or two.
    expect(sentBytes).toBeLessThanOrEqual(limit + 3 * piece.byteLength)
  })
})

/** The statuses for a body that was read. 422 means that the project has reached a limit, such as on webhooks. */
const statusesOfRead = ({ responses }: Contract): string[] => [...Object.keys(responses), '422']

// Traces share their path with OTLP exports. test/otlp/endpoint.test.ts covers how the service distinguishes them.
const alone = contracts.filter(([, { path }]) => path !== '/api/v1/traces')

describe.for(alone)('the compressed body of %s', ([, contract]) => {
  beforeAll(async () => {
    world = await renew(world, sampleOf(contract))
  })

  const postPacked = (bytes: Uint8Array, encoding: string) =>
    postBytes(contract, bytes, { headers: { 'content-encoding': encoding }, isChunked: true })
  const bytesOf = (size: number) => new TextEncoder().encode(padded(contract, size))

  it.for(['gzip', 'deflate', 'zstd', 'identity'] as const)('is accepted in %s', async (encoding, { expect }) => {
    const bytes = bytesOf(0)
    const response = await postPacked(encoding === 'identity' ? bytes : await compressed(encoding, bytes), encoding)
    expect(statusesOfRead(contract), response.body.error).toContain(String(response.status))
  })

  it('is measured after inflation', async ({ expect }) => {
    const limit = limitOf(contract)
    const taken = await postPacked(await compressed('gzip', bytesOf(limit)), 'gzip')
    expect(statusesOfRead(contract), taken.body.error).toContain(String(taken.status))
    const tooLarge = [
      [await compressed('gzip', bytesOf(limit + 1)), 'gzip'],
      [await compressed('gzip', bytesOf(limit + 40 * 1024 * 1024)), 'gzip'],
      [zstdSpaces(Math.floor(limit / 128 / 1024) + 1), 'zstd'],
      [zstdSpaces(2000), 'zstd'],
    ] as const
    for (const [packed, encoding] of tooLarge) {
      const response = await postPacked(packed, encoding)
      expect(response.status).toBe(413)
      expect(response.body.error).toBe(contract.errors?.[413] ?? 'Request body too large')
    }
  })

  it('415s in any other encoding or a combination of encodings', async ({ expect }) => {
    for (const encoding of ['br', 'compress', 'gzip, gzip', 'identity, gzip', 'none']) {
      expect((await postPacked(bytesOf(0), encoding)).status, encoding).toBe(415)
    }
  })

  it('400s if it does not match its encoding, is truncated, or has trailing bytes', async ({ expect }) => {
    const packed = await compressed('gzip', bytesOf(0))
    const faulty = [bytesOf(1), packed.subarray(0, -1), packed.subarray(0, 12), new Uint8Array([...packed, 0])]
    for (const bytes of faulty) expect((await postPacked(bytes, 'gzip')).status).toBe(400)
  })
})

describe('the beginning of a body', () => {
  const bytes = new TextEncoder().encode('{"resourceSpans":[]}'.padEnd(100_000))

  it.for(['gzip', 'deflate'] as const)('is inflated from the first bytes of a %s body', async (format, { expect }) => {
    const packed = await compressed(format, bytes)
    const start = inflatedStart(packed.subarray(0, 64), format, bytes.byteLength)
    expect(start.byteLength).toBeGreaterThan(20)
    expect(start).toEqual(bytes.subarray(0, start.byteLength))
    expect(inflatedStart(packed.subarray(0, 3), format, 1000)).toEqual(new Uint8Array())
    expect(inflatedStart(bytes, format, 1000)).toEqual(new Uint8Array())
  })

  it('is inflated from the first block of a zstd body', async ({ expect }) => {
    const packed = await compressed('zstd', bytes)
    expect(packed.byteLength).toBeLessThan(startBytes('zstd'))
    expect(inflatedStart(packed, 'zstd', bytes.byteLength)).toEqual(bytes)
    expect(inflatedStart(packed.subarray(0, 20), 'zstd', 1000)).toEqual(new Uint8Array())
    expect(inflatedStart(bytes, 'zstd', 1000)).toEqual(new Uint8Array())
  })

  it('is unchanged if there is no encoding, and empty if the encoding is unknown', ({ expect }) => {
    expect(inflatedStart(bytes, null, 0)).toEqual(bytes)
    expect(inflatedStart(bytes, ' Identity', 0)).toEqual(bytes)
    expect(inflatedStart(bytes, 'br', 1000)).toEqual(new Uint8Array())
  })

  it.for(['gzip', 'deflate', 'zstd'] as const)(
    'is empty if a %s body inflates to more than the limit',
    async (format, { expect }) => {
      expect(inflatedStart(await compressed(format, bytes), format, 1000)).toEqual(new Uint8Array())
    },
  )
})

describe('the limit on a body', () => {
  it.for([
    ['POST /api/v1/observations', MAX_OBSERVATION_BYTES + ENVELOPE_BYTES],
    ['POST /api/v1/spans', 2 * MAX_OBSERVATION_BYTES + 6 * MAX_METADATA_BYTES + ENVELOPE_BYTES],
    ['POST /api/v1/batch', MAX_BATCH_BYTES],
    ['POST /api/v1/traces', 6 * MAX_METADATA_BYTES + ENVELOPE_BYTES],
    ['POST /api/projects', MAX_BODY_BYTES],
  ] as const)('for %s is %i bytes', ([name, limit], { expect }) => {
    const found = contracts.find(([each]) => each === name)
    expect(found && limitOf(found[1])).toBe(limit)
  })
})
