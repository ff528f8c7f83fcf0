import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { copyChanges, listUncopied, logAllRows, logChanges } from '../../src/store/core/copies.ts'
import { Deadline } from '../../src/store/core/deadline.ts'
import { openUnscopedStore } from '../../src/store/core/store.ts'
import { HOMES } from '../../src/store/schema/homes.ts'
import { isSharded } from '../support/database.ts'
import { migrate } from '../support/migrations.ts'
import { newOrg } from '../support/org.ts'
import { newWorld } from '../support/samples.ts'

/** The database that stands in for a shard. */
const shardBindings = { DB: env.REPLICA, PAYLOADS: env.PAYLOADS }

const COPIED = Object.entries(HOMES).flatMap(([table, home]) => (home === 'copied' ? [table] : []))

const rowsOf = async (database: D1Database) =>
  Object.fromEntries(
    await Promise.all(
      COPIED.map(async table => {
        const { results } = await database.prepare(`select * from "${table}"`).all()
        return [table, results.map(row => JSON.stringify(row)).sort()] as const
      }),
    ),
  )

describe.skipIf(isSharded)('copies of the control database', () => {
  it('contain all rows that already existed, and every later change', async () => {
    await migrate(env.REPLICA)
    const control = openUnscopedStore(env, new Deadline(60_000))
    const shard = openUnscopedStore(shardBindings, new Deadline(60_000))
    const copyAll = async () => {
      for (const key of await listUncopied(control, 100)) {
        expect(await copyChanges(control.database, [shard.database], key)).toBe(true)
      }
      expect(await listUncopied(control, 100)).toEqual([])
    }
    const org = await newOrg()
    const world = await newWorld(org)
    await logChanges(control)
    expect(await logAllRows(control, { copiedUntil: 0, keys: [] })).toBeGreaterThan(5)
    await copyAll()
    const before = await rowsOf(env.DB)
    expect(before.text_versions?.length).toBeGreaterThan(1)
    expect(await rowsOf(env.REPLICA)).toEqual(before)

    // Creates, changes, and deletes rows.
    const { owner } = org
    await owner.patch(`/api/projects/${org.project.id}`, { name: 'Renamed' })
    await owner.post('/api/projects', { slug: 'other', name: 'Other' })
    await owner.post(`/api/prompts/${world.prompt.id}/versions`, { content: 'Newer' })
    await owner.delete(`/api/knowledge-docs/${world.doc.id}`)
    await owner.put(`/api/projects/${org.project.id}/step-names`, { names: { drafted: 'answered' } })
    await owner.put(`/api/projects/${org.project.id}/step-names`, { names: {} })
    await copyAll()
    const after = await rowsOf(env.DB)
    expect(after).not.toEqual(before)
    expect(await rowsOf(env.REPLICA)).toEqual(after)
  })
})
