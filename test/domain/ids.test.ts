import { describe, expect, it } from 'vitest'
import { firstKeyAt, isUuid, keyLane, newKeys, uuidV5 } from '../../src/domain/ids.ts'

describe('a name-based UUID', () => {
  // RFC 9562, appendix A.4, and the example in Python's documentation of the same algorithm.
  it.for([
    ['6ba7b810-9dad-11d1-80b4-00c04fd430c8', 'www.example.com', '2ed6657d-e927-568b-95e1-2665a8aea6a2'],
    ['6ba7b810-9dad-11d1-80b4-00c04fd430c8', 'python.org', '886313e1-3b8a-5372-9b90-0c9aee199e5d'],
  ] as const)('is derived from namespace %s and name %s', async ([namespace, name, expected], { expect }) => {
    expect(await uuidV5(namespace, name)).toBe(expected)
    expect(isUuid(expected)).toBe(true)
  })
})

const NOW = Date.UTC(2026, 10, 25)

describe('new keys', () => {
  it.each([1, 2, 3, 16])('differ across %i databases, and within a call', databases => {
    const all = Array.from({ length: databases }, (_, database) => newKeys(NOW, 5000, keyLane(database, databases)))
    expect(new Set(all.flat()).size).toBe(5000 * databases)
    expect(all.flat().every(key => key >= firstKeyAt(NOW))).toBe(true)
  })

  it('use every key in a millisecond if there is one database', () => {
    const keys = newKeys(NOW, 4096)
    expect(keys.toSorted((one, other) => one - other)).toEqual(
      Array.from({ length: 4096 }, (_, nth) => firstKeyAt(NOW) + nth),
    )
  })
})
