import { env } from 'cloudflare:workers'
import { describe, it } from 'vitest'
import { uuidV5 } from '../../src/domain/ids.ts'

/** RFC 9562, section 6.6. */
const URL_NAMESPACE = '6ba7b811-9dad-11d1-80b4-00c04fd430c8'

describe('the taxonomy', () => {
  it('has 18 error types in three categories, with ids that clients can compute', async ({ expect }) => {
    const { results } = await env.DB.prepare('select * from error_types').all<Record<string, string>>()
    const categories = Map.groupBy(results, ({ category }) => category)
    expect([...categories].map(([category, types]) => [category, types.length])).toEqual([
      ['User Error', 4],
      ['Human Error', 4],
      ['AI Error', 10],
    ])
    for (const { error_type, id, name, rule } of results) {
      expect(id).toBe(await uuidV5(URL_NAMESPACE, `countersign:error-type:${error_type}`))
      expect(error_type).toMatch(/^[a-z]+(_[a-z]+)*$/)
      expect(name?.length).toBeGreaterThan(5)
      expect(rule?.length).toBeGreaterThan(20)
    }
  })
})
