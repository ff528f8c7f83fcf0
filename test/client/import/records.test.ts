import { describe, it } from 'vitest'
import { traceIdOf, uuidV5 } from '../../../src/client/import/ids.ts'
import { recordsOf } from '../../../src/client/import/read.ts'
import { isoTime, timeOf } from '../../../src/client/import/values.ts'
import { MAX_RECORD_DEPTH, MAX_RECORD_LENGTH } from '../../../src/client/limits.ts'
import { uuidV5 as serviceUuid } from '../../../src/domain/ids.ts'

async function read(text: string | Uint8Array, pieceBytes = 7) {
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text
  const file = {
    name: 'f',
    async *open() {
      for (let start = 0; start < bytes.length; start += pieceBytes) yield bytes.slice(start, start + pieceBytes)
    },
  }
  const found: unknown[] = []
  for await (const record of recordsOf(file))
    found.push('value' in record ? [record.line, record.value] : [record.line, record.error.split(':')[0]])
  return found
}

const TWO = [
  [1, { a: 'é😀' }],
  [2, { b: [1, '}]"\\'] }],
]
const B = '{"b":[1,"}]\\"\\\\"]}'

describe('a file', () => {
  it.for([
    ['lines', `{"a":"é😀"}\n${B}\n`, TWO],
    ['lines with CRLF and a byte order mark, without a final line break', `\uFEFF{"a":"é😀"}\r\n${B}`, TWO],
    [
      'lines with empty lines between them',
      `\n{"a":1}\n\n \n{"a":2}`,
      [
        [2, { a: 1 }],
        [5, { a: 2 }],
      ],
    ],
    ['an array', `[{"a":"é😀"},\n${B}]`, TWO],
    [
      'an array across several lines',
      `[\n {\n"a": 1\n },\n {"a": 2}\n]\n`,
      [
        [2, { a: 1 }],
        [5, { a: 2 }],
      ],
    ],
    [
      'values one after another',
      `{\n"a": 1\n}\n{\n"a": 2\n}`,
      [
        [1, { a: 1 }],
        [4, { a: 2 }],
      ],
    ],
    [
      'a page',
      `{"data":[{"a":1},{"a":2}],"meta":{"page":1}}`,
      [
        [1, { a: 1 }],
        [1, { a: 2 }],
      ],
    ],
    [
      'pages across several lines',
      `{\n"data":[{"a":1}],"next_cursor":null\n}\n{\n"data":[{"a":2}]}`,
      [
        [1, { a: 1 }],
        [4, { a: 2 }],
      ],
    ],
    ['a record with a field named data', `{"id":1,"data":[1]}`, [[1, { id: 1, data: [1] }]]],
    [
      'a broken line',
      `{"a":1}\n{"a":"x\n{"a":3}\nnothing\n{"a":5}`,
      [
        [1, { a: 1 }],
        [2, 'Not JSON'],
        [3, { a: 3 }],
        [4, 'Not JSON'],
        [5, { a: 5 }],
      ],
    ],
    [
      'a broken item',
      `[{"a":1},\n{"a": },\n{"a":3}]`,
      [
        [1, { a: 1 }],
        [2, 'Not JSON'],
        [3, { a: 3 }],
      ],
    ],
    [
      'a file that was cut off within a line',
      `{"a":1}\n{"a":`,
      [
        [1, { a: 1 }],
        [2, 'Not JSON'],
      ],
    ],
    [
      'an array that was cut off',
      `[{"a":1},\n{"a":`,
      [
        [1, { a: 1 }],
        [2, 'Not JSON'],
      ],
    ],
    [
      'an array that was cut off between items',
      `[{"a":1},\n`,
      [
        [1, { a: 1 }],
        [2, 'Not JSON'],
      ],
    ],
    ['nothing', '', []],
    ['an empty array', '[]', []],
  ] as const)('is read as records with their line numbers: %s', async ([, text, expected], { expect }) => {
    for (const pieceBytes of [1, 7, 1000]) expect(await read(text, pieceBytes)).toEqual(expected)
  })

  it('may be gzipped', async ({ expect }) => {
    const zipped = new Blob([`{"a":"é😀"}\n${B}\n`]).stream().pipeThrough(new CompressionStream('gzip'))
    expect(await read(new Uint8Array(await new Response(zipped).arrayBuffer()))).toEqual(TWO)
  })

  it('may break off, but the records before that point are still read', async ({ expect }) => {
    const lines = Array.from({ length: 3000 }, (_, index) => JSON.stringify({ index, id: crypto.randomUUID() }))
    const zipped = new Blob([lines.join('\n')]).stream().pipeThrough(new CompressionStream('gzip'))
    const bytes = new Uint8Array(await new Response(zipped).arrayBuffer())
    const found = await read(bytes.slice(0, bytes.length - 1000), 1000)
    expect(found.length).toBeGreaterThan(1)
    expect(found[0]).toEqual([1, JSON.parse(lines[0] ?? '')])
    expect(found.at(-1)).toEqual([expect.any(Number), "The rest of the file can't be read"])
    expect(await read(Uint8Array.of(0x1f, 0x8b, 1, 2, 3))).toEqual([[1, "The rest of the file can't be read"]])
  })

  it('may have a record that’s nested too deeply, which is skipped', async ({ expect }) => {
    const deep = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
    const found = await read(`${deep(MAX_RECORD_DEPTH)}\n${deep(MAX_RECORD_DEPTH + 1)}\n${deep(50_000)}\n{"a":4}`, 1000)
    expect(found).toEqual([
      [1, expect.anything()],
      [2, expect.stringContaining('Nests deeper')],
      [3, expect.stringContaining('Nests deeper')],
      [4, { a: 4 }],
    ])
  })

  it('may have a record that’s too long, which is skipped', async ({ expect }) => {
    const long = `{"a":"${'x'.repeat(MAX_RECORD_LENGTH)}"}`
    for (const text of [`{"a":1}\n${long}\n{"a":3}`, `[{"a":1},\n${long},\n{"a":3}]`]) {
      const found = await read(text, 1 << 22)
      expect(found).toEqual([
        [1, { a: 1 }],
        [2, expect.stringContaining('longer than')],
        [3, { a: 3 }],
      ])
    }
  })
})

describe('a time', () => {
  it.for([
    ['2024-05-29 13:46:19.963999', '2024-05-29T13:46:19.963Z'],
    ['2024-05-29T13:46:19.963999+00:00', '2024-05-29T13:46:19.963Z'],
    ['2024-05-29T13:46:19Z', '2024-05-29T13:46:19.000Z'],
    ['2024-05-29T13:46:19.5+02:00', '2024-05-29T11:46:19.500Z'],
    ['2024-05-29 13:46:19.963999+00', '2024-05-29T13:46:19.963Z'],
    ['2024-05-29 13:46:19-07', '2024-05-29T20:46:19.000Z'],
    ['2024-05-29T13:46:19.123456789-0130', '2024-05-29T15:16:19.123Z'],
    [1716990379, '2024-05-29T13:46:19.000Z'],
    [1716990379.25, '2024-05-29T13:46:19.250Z'],
    [1716990379963, '2024-05-29T13:46:19.963Z'],
    [1716990379963999, '2024-05-29T13:46:19.963Z'],
    ['1716990379963', '2024-05-29T13:46:19.963Z'],
    ['2024-02-30T00:00:00Z', undefined],
    ['yesterday', undefined],
    ['2024-05-29', undefined],
    ['1969-12-31T23:59:59Z', undefined],
    [-1, undefined],
    [1e20, undefined],
    [1e300, undefined],
    ['', undefined],
    [null, undefined],
    [true, undefined],
  ] as const)('is read to the millisecond: %s', ([given, expected], { expect }) => {
    const time = timeOf(given)
    expect(time === undefined ? undefined : isoTime(time)).toBe(expected)
  })
})

describe('an id', () => {
  it('is the same as the one that the service derives', async ({ expect }) => {
    const namespace = '6ba7b811-9dad-11d1-80b4-00c04fd430c8'
    for (const name of ['span:a:b', 'é😀'])
      expect(await uuidV5(namespace, name)).toBe(await serviceUuid(namespace, name))
  })

  it('is the source’s id if that is valid in a trace_id, and otherwise a stable hash', async ({ expect }) => {
    for (const id of ['abc', 'A-b_9', 'x'.repeat(122)]) expect(await traceIdOf(id)).toBe(`trace_${id}`)
    for (const id of ['', 'a b', 'é', 'a/b', 'x'.repeat(123)]) {
      const traceId = await traceIdOf(id)
      expect(traceId).toMatch(/^trace_[0-9a-f]{32}$/)
      expect(await traceIdOf(id)).toBe(traceId)
      expect(await traceIdOf(`${id}.`)).not.toBe(traceId)
    }
  })
})
