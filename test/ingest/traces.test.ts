import { describe, it } from 'vitest'
import { rootSpanUuid, traceUuid } from '../../src/domain/ids.ts'
import { MAX_METADATA_BYTES, MAX_NAME_LENGTH, MAX_NAMED_FIELDS, MAX_SEARCHABLE_FIELDS } from '../../src/limits.ts'
import { aTrace, TIME, timeAfter } from '../support/builders.ts'
import { type ApiResponse, newOrg, type Org } from '../support/org.ts'

const read = async (org: Org, id: string) => (await org.read.get(`/api/traces/${id}`)).body

/** Posts calls for one trace in order, and reads the merged trace. */
async function afterCalls(calls: readonly object[]) {
  const org = await newOrg()
  const { trace_id } = aTrace()
  let id = ''
  for (const call of calls) {
    const response = await org.ingest.post('/api/v1/traces', aTrace({ trace_id, metadata: {}, ...call }))
    if (response.status !== 202) throw new Error(`unexpected status ${response.status}: ${response.body.error}`)
    id = response.body.id
  }
  return read(org, id)
}

describe('a trace', () => {
  it.for([
    ['no trace_id', { trace_id: undefined }, 'trace_id'],
    ['a trace_id with an invalid character', { trace_id: 'trace_a/b' }, 'trace_id'],
    ['a trace_id that is too long', { trace_id: `trace_${'x'.repeat(123)}` }, 'trace_id'],
    ['no name', { name: undefined }, 'name'],
    ['an empty name', { name: '' }, 'name'],
    ['a name that is not a string', { name: 5 }, 'name'],
    ['a name with half a surrogate pair', { name: '\ud800' }, 'name'],
    ['a name that is too long', { name: 'x'.repeat(MAX_NAME_LENGTH + 1) }, 'name'],
    ['a name that is too long in 4-byte characters', { name: '😀'.repeat(MAX_NAME_LENGTH + 1) }, 'name'],
    ['no timestamp', { timestamp: undefined }, 'timestamp'],
    ['no status', { status: undefined }, 'status'],
    ['an unknown status', { status: 'failed' }, 'status'],
    ['metadata that is not an object', { metadata: ['a'] }, 'metadata'],
    ['metadata that is too large', { metadata: { a: 'x'.repeat(MAX_METADATA_BYTES - 7) } }, 'metadata'],
    ['a negative duration', { duration_ms: -1 }, 'duration_ms'],
    ['a duration that is not an integer', { duration_ms: 1.5 }, 'duration_ms'],
    ['a duration above the largest exact integer', { duration_ms: 2 ** 53 }, 'duration_ms'],
  ] as const)('400s for %s', async ([, fields, path], { expect }) => {
    const org = await newOrg()
    const response = await org.ingest.post('/api/v1/traces', aTrace(fields))
    expect(response.status).toBe(400)
    expect(response.body.details[0].path).toBe(path)
    expect((await org.read.get('/api/traces?projectSlug=support')).body.traces).toEqual([])
  })

  it.for([
    ['the longest trace_id', { trace_id: `trace_${'x'.repeat(122)}` }],
    ['the longest name', { name: 'x'.repeat(MAX_NAME_LENGTH) }],
    ['the longest name in 4-byte characters', { name: '😀'.repeat(MAX_NAME_LENGTH) }],
    ['the largest metadata', { metadata: { a: 'x'.repeat(MAX_METADATA_BYTES - 8) } }],
    ['no metadata', { metadata: undefined }],
    ['the last moment', { timestamp: '9999-12-31T23:59:59.999Z' }],
    ['a moment before 1970', { timestamp: '1969-12-31T23:59:59.999Z' }],
  ] as const)('may have %s', async ([, fields], { expect }) => {
    const org = await newOrg()
    const trace = aTrace(fields)
    const response = await org.ingest.post('/api/v1/traces', trace)
    expect(response.status).toBe(202)
    expect(await read(org, response.body.id)).toMatchObject({
      traceId: trace.trace_id,
      name: trace.name,
      metadata: trace.metadata ?? {},
      createdAt: trace.timestamp,
    })
  })

  it('gets ids that a client can compute', async ({ expect }) => {
    const org = await newOrg()
    const trace = aTrace()
    const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
    expect(id).toBe(await traceUuid(org.project.id, trace.trace_id))
    const [root] = (await read(org, id)).spans
    expect(root).toMatchObject({ id: await rootSpanUuid(org.project.id, trace.trace_id), parentSpanId: null })
  })

  it('becomes one trace, even if sent repeatedly and in parallel', async ({ expect }) => {
    const org = await newOrg()
    const trace = aTrace()
    const responses = await Promise.all(Array.from({ length: 50 }, () => org.ingest.post('/api/v1/traces', trace)))
    expect(new Set(responses.map(({ status, body }) => `${status} ${body.id}`)).size).toBe(1)
    expect((await org.read.get('/api/traces?projectSlug=support')).body.traces).toHaveLength(1)
  })

  it('keeps all fields from parallel calls', async ({ expect }) => {
    const org = await newOrg()
    const trace = aTrace({ metadata: {} })
    const names = Array.from({ length: 20 }, (_, index) => `field${index}`)
    // A call that loses too many races gets a 503, and the client sends it again.
    const send = async (name: string): Promise<ApiResponse> => {
      const response = await org.ingest.post('/api/v1/traces', { ...trace, metadata: { [name]: 1 } })
      return response.status === 503 ? send(name) : response
    }
    const responses = await Promise.all(names.map(send))
    expect(Object.keys((await read(org, responses[0]?.body.id)).metadata).sort()).toEqual(names.sort())
    for (const name of names) {
      expect((await org.ingest.get(`/api/v1/traces/search?${name}=1`)).body.count).toBe(1)
    }
  })

  it('warns about metadata that is not searchable, each time it is sent', async ({ expect }) => {
    const org = await newOrg()
    const metadata = Object.fromEntries(
      Array.from({ length: MAX_SEARCHABLE_FIELDS + 1 }, (_, index) => [`f${index}`, 1]),
    )
    const trace = aTrace({ metadata })
    const response = await org.ingest.post('/api/v1/traces', trace)
    expect((await org.ingest.post('/api/v1/traces', trace)).body).toEqual(response.body)
    expect(response.body.warnings).toEqual([
      `metadata: only the first ${MAX_SEARCHABLE_FIELDS} of ${MAX_SEARCHABLE_FIELDS + 1} values are searchable`,
    ])
    expect((await org.ingest.get('/api/v1/traces/search?f63=1')).body.count).toBe(1)
    expect((await org.ingest.get('/api/v1/traces/search?f64=1')).body.count).toBe(0)
    const long = await org.ingest.post('/api/v1/traces', aTrace({ metadata: { ['x'.repeat(257)]: 1 } }))
    expect(long.body.warnings).toEqual(['metadata: values with a path over 256 bytes are not searchable'])
    // The full paths of these 16,000 values would take 480 MB.
    const bomb = { ['a'.repeat(15_000)]: { ['b'.repeat(15_000)]: Array.from({ length: 16_000 }, () => 0) } }
    expect((await org.ingest.post('/api/v1/traces', aTrace({ metadata: bomb }))).body.warnings).toEqual(
      long.body.warnings,
    )
  })
})

describe('calls for one trace merge:', () => {
  const running = { status: 'running' }
  const completed = { status: 'completed' }

  it.for([
    ['completed wins', [running, completed, running], { status: 'completed' }],
    ['the completing call may come first', [completed, running], { status: 'completed' }],
    ['a running call has no duration', [{ ...running, duration_ms: 5 }], { durationMs: null }],
    [
      'the duration stays null if the first completing call has none',
      [completed, { ...completed, duration_ms: 9 }],
      { durationMs: null },
    ],
    [
      'the first duration stays',
      [
        { ...completed, duration_ms: 5 },
        { ...completed, duration_ms: 9 },
      ],
      { durationMs: 5 },
    ],
    ['the first name stays', [{ name: 'a' }, { name: 'b', ...completed }], { name: 'a' }],
    ['the first timestamp stays', [{}, { timestamp: timeAfter(9), ...completed }], { createdAt: TIME }],
    ['metadata merges', [{ metadata: { a: 1 } }, { metadata: { b: 2 } }], { metadata: { a: 1, b: 2 } }],
    [
      'later running fields replace earlier ones',
      [{ metadata: { a: 1 } }, { metadata: { a: 2 } }],
      { metadata: { a: 2 } },
    ],
    [
      'fields merge only at the top level',
      [{ metadata: { a: { b: 1 } } }, { metadata: { a: { c: 1 } } }],
      { metadata: { a: { c: 1 } } },
    ],
    [
      'completing fields take precedence over later running ones',
      [{ metadata: { a: 0, b: 0 } }, { ...completed, metadata: { a: 1 } }, { metadata: { a: 2, b: 2 } }],
      { metadata: { a: 1, b: 2 } },
    ],
    [
      'later completing fields replace earlier ones',
      [{ ...completed, metadata: { a: 1 } }, { ...completed, metadata: { a: 2 } }, { metadata: { a: 3 } }],
      { metadata: { a: 2 } },
    ],
  ] as const)('%s', async ([, calls, expected], { expect }) => {
    expect(await afterCalls(calls)).toMatchObject(expected)
  })

  it('overwritten values are no longer found', async ({ expect }) => {
    const org = await newOrg()
    const trace = aTrace({ metadata: { stage: 'draft', kept: 'yes' } })
    await org.ingest.post('/api/v1/traces', trace)
    await org.ingest.post('/api/v1/traces', { ...trace, status: 'completed', metadata: { stage: 'final' } })
    const count = async (query: string) => (await org.ingest.get(`/api/v1/traces/search?${query}`)).body.count
    expect(await count('stage=draft')).toBe(0)
    expect(await count('stage=final&kept=yes')).toBe(1)
  })

  const ofKilobytes = (kilobytes: number) => 'x'.repeat(1024 * kilobytes)
  it.for([
    [
      'completes the trace, keeps the existing fields, and adds those that fit',
      [{ metadata: { a: ofKilobytes(40) } }, { ...completed, duration_ms: 7, metadata: { b: ofKilobytes(40), c: 1 } }],
      { status: 'completed', durationMs: 7, metadata: { a: ofKilobytes(40), c: 1 } },
      ['b'],
    ],
    [
      'keeps the value of a field whose new value does not fit',
      [{ metadata: { a: ofKilobytes(40), b: 'old' } }, { metadata: { b: ofKilobytes(40) } }],
      { metadata: { a: ofKilobytes(40), b: 'old' } },
      ['b'],
    ],
    [
      'frees space before filling it',
      [{ metadata: { a: ofKilobytes(40) } }, { metadata: { b: ofKilobytes(60), a: 'small' } }],
      { metadata: { a: 'small', b: ofKilobytes(60) } },
      [],
    ],
    [
      'adds fields in the order in which they were sent',
      [{ metadata: { a: ofKilobytes(30) } }, { metadata: { b: ofKilobytes(30), c: ofKilobytes(30) } }],
      { metadata: { a: ofKilobytes(30), b: ofKilobytes(30) } },
      ['c'],
    ],
    [
      'lets later calls add a field that did not fit',
      [
        { metadata: { a: ofKilobytes(40) } },
        { ...completed, metadata: { b: ofKilobytes(40) } },
        { metadata: { b: 'small' } },
      ],
      { metadata: { a: ofKilobytes(40), b: 'small' } },
      [],
    ],
  ] as const)('a call whose metadata does not fit %s', async ([, calls, expected, left], { expect }) => {
    const org = await newOrg()
    const { trace_id } = aTrace()
    const send = (call: object) => org.ingest.post('/api/v1/traces', aTrace({ trace_id, metadata: {}, ...call }))
    for (const call of calls.slice(0, -1)) await send(call)
    const [first, again] = [await send(calls.at(-1) ?? {}), await send(calls.at(-1) ?? {})]
    const warnings =
      left.length === 0
        ? undefined
        : [
            `metadata: limited to ${MAX_METADATA_BYTES} bytes in total; left out ${left.map(field => `"${field}"`).join(', ')}`,
          ]
    expect([first.status, first.body.warnings]).toEqual([202, warnings])
    expect(again.body).toEqual(first.body)
    const stored = await read(org, first.body.id)
    expect(stored).toMatchObject(expected)
    expect(stored.metadata).toEqual(expected.metadata)
  })

  it('metadata may fill exactly 64 KiB', async ({ expect }) => {
    const half = MAX_METADATA_BYTES / 2
    // {"a":"…","b":"…"}
    const metadata = { b: 'x'.repeat(half - 15) }
    const calls = [{ metadata: { a: 'x'.repeat(half) } }, { metadata }]
    expect(new TextEncoder().encode(JSON.stringify({ ...calls[0]?.metadata, ...metadata }))).toHaveLength(
      MAX_METADATA_BYTES,
    )
    expect((await afterCalls(calls)).metadata).toHaveProperty('b')
    const longer = { metadata: { b: `${metadata.b}x` } }
    expect((await afterCalls([...calls.slice(0, 1), longer])).metadata).not.toHaveProperty('b')
  })

  it('a warning lists some of the fields that were left out and counts the others', async ({ expect }) => {
    const org = await newOrg()
    const trace = aTrace({ metadata: { a: ofKilobytes(60) } })
    await org.ingest.post('/api/v1/traces', trace)
    const many = Object.fromEntries(
      Array.from({ length: 1000 }, (_, index) => [`${'n'.repeat(40)}${index}`, ofKilobytes(0)]),
    )
    const long = { [ofKilobytes(30)]: 1 }
    const { warnings } = (await org.ingest.post('/api/v1/traces', { ...trace, metadata: many })).body
    expect(warnings[0]).toMatch(/ and \d+ more$/)
    expect(warnings[0].match(/"n+\d+"/g)).toHaveLength(MAX_NAMED_FIELDS)
    const cut = (await org.ingest.post('/api/v1/traces', { ...trace, metadata: long })).body.warnings[0]
    expect(cut.length).toBeLessThan(400)
  })

  it('updatedAt changes if a call changes something', async ({ expect }) => {
    const org = await newOrg()
    const trace = aTrace()
    const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
    const first = (await read(org, id)).updatedAt
    await scheduler.wait(5)
    await org.ingest.post('/api/v1/traces', trace)
    expect((await read(org, id)).updatedAt).toBe(first)
    await org.ingest.post('/api/v1/traces', { ...trace, status: 'completed' })
    expect((await read(org, id)).updatedAt > first).toBe(true)
  })
})
