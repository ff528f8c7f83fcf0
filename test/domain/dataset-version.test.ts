import { describe, it } from 'vitest'
import { readVersion, writeVersion } from '../../src/domain/dataset-version.ts'

const part = (shard: number, stepId: string, sequence: number) => ({ shard, stepId, sequence })

describe('a version of a dataset', () => {
  it.for([
    ['one step', [part(0, 'answer', 7)]],
    ['two steps with the same name', [part(0, 'answer', 7), part(0, 'reply', 12)]],
    ['several databases', [part(0, 'answer', 40), part(1, 'answer', 7), part(12, 'answer', 0), part(12, 'reply', 3)]],
  ] as const)('identifies the entries of %s', async ([, parts], { expect }) => {
    const latest = parts.map(each => ({ ...each, sequence: each.sequence + 1 }))
    expect(await readVersion(await writeVersion(parts), latest)).toEqual(parts)
  })

  it('is a hash and a sequence number if there is only one database', async ({ expect }) => {
    expect(await writeVersion([part(0, 'answer', 7)])).toMatch(/^[0-9a-f]{8}7$/)
  })

  it('stays valid when a database is added, but has none of that database’s items', async ({ expect }) => {
    const version = await writeVersion([part(1, 'answer', 7)])
    const latest = [part(1, 'answer', 9), part(2, 'answer', 3)]
    const parts = await readVersion(version, latest)
    expect(parts).toEqual([part(1, 'answer', 7), part(2, 'answer', 0)])
    expect(await writeVersion(parts ?? [])).toBe(version)
  })

  it.for([
    ['entries that don’t exist yet', [part(1, 'answer', 8)]],
    ['a database that has no items', [part(1, 'answer', 7), part(2, 'answer', 1)]],
    ['another step', [part(1, 'reply', 1)]],
  ] as const)('is rejected if it includes %s', async ([, parts], { expect }) => {
    expect(await readVersion(await writeVersion(parts), [part(1, 'answer', 7)])).toBeUndefined()
  })
})
