import { env } from 'cloudflare:workers'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Env } from '../../src/env.ts'
import { followShards } from '../../src/jobs/follow-shards.ts'
import {
  COPIED_PAGES,
  COPIED_TEXT_VERSIONS,
  EMPTIED_SHARD_BYTES,
  EPOCH_DELAY_MS,
  MAX_SHARD_BYTES,
  NEW_PROJECT_DELAY_MS,
  PLACED_PROJECTS,
  PLACING_PASS_MS,
} from '../../src/limits.ts'
import { copyChanges } from '../../src/store/core/copies.ts'
import { openDatabase } from '../../src/store/core/database.ts'
import { Deadline } from '../../src/store/core/deadline.ts'
import { HOMES } from '../../src/store/schema/homes.ts'
import { aTrace } from '../support/builders.ts'
import { isSharded } from '../support/database.ts'
import { migrate } from '../support/migrations.ts'
import { client, newOrg } from '../support/org.ts'
import { newWorld } from '../support/samples.ts'

/** A time in the future that the clock doesn't reach, even in a slow test. */
const NOW = Date.now() + 3_600_000

/** The only database besides DB. It acts as several shards, so rows that are copied to one shard are in all of them. */
const shard = env.REPLICA

/** A shard of a given size, or one that doesn't respond if the size is null. */
function sized(bytes: number | null): D1Database {
  const withSize = (result: D1Result): D1Result => ({ ...result, meta: { ...result.meta, size_after: bytes ?? 0 } })
  const wrapped = (statement: D1PreparedStatement): D1PreparedStatement => {
    const all = async () => withSize(await statement.all())
    return Object.assign(Object.create(statement), {
      all,
      bind: (...values: unknown[]) => wrapped(statement.bind(...values)),
    })
  }
  const prepare = (sql: string) => {
    if (bytes === null) throw new Error('D1_ERROR: Network connection lost.')
    return sql.includes('from sweeps') ? wrapped(shard.prepare(sql)) : shard.prepare(sql)
  }
  return Object.assign(Object.create(shard), { prepare, batch: shard.batch.bind(shard) })
}

const withShards = (...shards: D1Database[]): Env => ({
  ...env,
  ...Object.fromEntries(shards.map((each, index) => [`DB_${index + 1}`, each])),
})

const epochsOf = async (id: string) =>
  env.DB.prepare('select epochs from projects where id = ?').bind(id).first<string | null>('epochs')

const COPIED = Object.entries(HOMES).flatMap(([table, home]) => (home === 'copied' ? [table] : []))

/** A database's copied rows, with each table in the order of its key. */
const rowsIn = async (database: D1Database) =>
  Promise.all(COPIED.map(async table => (await database.prepare(`select * from "${table}"`).all()).results))

/** Runs the pass often enough to copy a few organizations' rows. */
async function follow(bindings: Env, now = NOW): Promise<void> {
  for (let run = 0; run < 3; run++) await followShards(bindings, now)
}

describe.skipIf(isSharded)('cron on a deployment with shards', () => {
  beforeAll(() => migrate(shard))

  // Each test starts with a deployment whose shards are new.
  beforeEach(async () => {
    for (const database of [env.DB, shard]) {
      await database.batch(
        ['text_versions', 'sweeps', 'copies', 'copied_changes'].map(table => database.prepare(`delete from ${table}`)),
      )
    }
  })

  it('gives projects a new shard two minutes after the shard has copies of all rows', async () => {
    const org = await newOrg()
    const { prompt } = await newWorld(org)
    const versions = COPIED_PAGES * COPIED_TEXT_VERSIONS
    await env.DB.prepare(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < ?2)
       insert into text_versions (key, id, text_key, content, is_active, created_at)
       select 1000000 + i, 'version-' || i, versioned_texts.key, 'x', 0, 0 from n cross join versioned_texts where id = ?1`,
    )
      .bind(prompt.id, versions)
      .run()
    const bindings = withShards(shard)
    await followShards(bindings, NOW)
    expect(await epochsOf(org.project.id)).toBeNull()

    await follow(bindings)
    expect(await rowsIn(shard)).toEqual(await rowsIn(env.DB))
    expect(await epochsOf(org.project.id)).toBe(`0@0 ${NOW + EPOCH_DELAY_MS}@1`)
    const before = await env.DB.prepare('select max(sequence) as last from copied_changes').first()
    await follow(bindings)
    expect(await env.DB.prepare('select max(sequence) as last from copied_changes').first()).toEqual(before)
  })

  it('gives new projects the new shards only once every isolate is aware of them', async () => {
    const org = await newOrg()
    const bindings = withShards(shard)
    const create = async (slug: string) => {
      const { body } = await org
        .clientOf(await org.keyFor({ projectSlug: undefined }), bindings)
        .post('/api/projects', {
          slug,
          name: slug,
        })
      return { id: String(body.id), key: await org.keyFor({ projectSlug: slug }) }
    }
    // From now on, this isolate has the organization's epochs cached with the key.
    const reader = client({ 'x-api-key': org.ownerKey }, bindings)
    await reader.get('/api/session')
    await follow(bindings)
    const early = await create('early')
    const { body: trace } = await org.clientOf(early.key, bindings).post('/api/v1/traces', aTrace())
    expect((await reader.get(`/api/traces/${trace.id}`)).status).toBe(200)
    expect(await epochsOf(early.id)).toBe('0@0')

    await env.DB.prepare("update sweeps set due_at = due_at - ? where name = 'old_shards'")
      .bind(NEW_PROJECT_DELAY_MS)
      .run()
    const late = await create('late')
    expect(await epochsOf(late.id)).toBe('0@1')
    const { body: another } = await org.clientOf(late.key, bindings).post('/api/v1/traces', aTrace())
    // A key that was cached in the meantime has both epochs.
    const key = await org.keyFor({ projectSlug: undefined, scopes: ['read'] })
    for (const { id } of [trace, another]) {
      expect((await org.clientOf(key, bindings).get(`/api/traces/${id}`)).status).toBe(200)
    }
    // A project that was created in the meantime gets its epoch with the others.
    await follow(bindings, NOW + PLACING_PASS_MS)
    expect(await epochsOf(early.id)).toMatch(/^0@0 \d+@1$/)
  })

  it('uses a new shard, leaves out a full one, and keeps the last shards in use if all are full', async () => {
    const org = await newOrg()
    const at = (minute: number) => NOW + minute * 2 * EPOCH_DELAY_MS
    const run = async (minute: number, ...shards: D1Database[]) => {
      await follow(withShards(...shards), at(minute))
      return (await epochsOf(org.project.id))?.split(' ').at(-1)
    }
    const begun = (minute: number, shards: string) => `${at(minute) + EPOCH_DELAY_MS}@${shards}`
    const small = sized(1000)
    const full = sized(MAX_SHARD_BYTES)
    expect(await run(1, small)).toBe(begun(1, '1'))
    expect(await run(2, small, small)).toBe(begun(2, '1.2'))
    expect(await run(3, full, small)).toBe(begun(3, '2'))
    // The first shard isn't quite empty enough to get new traces again.
    expect(await run(4, sized(EMPTIED_SHARD_BYTES), small)).toBe(begun(3, '2'))
    expect(await run(5, full, full)).toBe(begun(3, '2'))
    expect(await run(6, sized(EMPTIED_SHARD_BYTES - 1), full)).toBe(begun(6, '1'))
    // A shard that doesn't respond stays in use.
    expect(await run(7, sized(null), small)).toBe(begun(7, '1.2'))
    expect(await epochsOf(org.project.id)).toBe(
      ['0@0', begun(2, '1.2'), begun(3, '2'), begun(6, '1'), begun(7, '1.2')].join(' '),
    )
  })

  it('adds one epoch for one change, no matter how many runs overlap', async () => {
    const org = await newOrg()
    const bindings = withShards(shard)
    const runs = Array.from({ length: 4 }, (_, run) => NOW + run)
    await Promise.all(runs.map(now => followShards(bindings, now)))
    await Promise.all(runs.map(now => follow(bindings, now)))
    expect(await epochsOf(org.project.id)).toMatch(/^0@0 \d+@1$/)
  })

  it('gives an epoch to every project, in bounded steps, and later to any projects that it missed', async () => {
    const org = await newOrg()
    const bindings = withShards(shard)
    await follow(bindings)
    await env.DB.prepare(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < ?2)
       insert into projects (id, organization_key, slug, name, created_at)
       select 'project-' || i, organization_key, 'project-' || i, '', 0 from n cross join projects where id = ?1`,
    )
      .bind(org.project.id, 2 * PLACED_PROJECTS)
      .run()
    const left = () => env.DB.prepare('select count(*) as left from projects where epochs is null').first('left')
    await follow(bindings)
    expect(await left()).toBe(2 * PLACED_PROJECTS)
    await follow(bindings, NOW + PLACING_PASS_MS)
    expect(await left()).toBe(0)
  })

  it("copies other organizations' rows if one organization's row can't be copied", async () => {
    const bindings = withShards(shard)
    await follow(bindings)
    const [broken, other] = [await newOrg(), await newOrg()]
    await shard
      .prepare(
        `create trigger broken before insert on projects when new.id = '${broken.project.id}' begin select raise(abort, 'broken'); end`,
      )
      .run()
    await follow(bindings)
    const has = (id: string) => shard.prepare('select id from projects where id = ?').bind(id).first('id')
    expect(await has(other.project.id)).toBe(other.project.id)
    expect(await has(broken.project.id)).toBeNull()
    await shard.prepare('drop trigger broken').run()
    await follow(bindings)
    expect(await has(broken.project.id)).toBe(broken.project.id)
  })

  it.each([
    ['DB', 'update copies set sequence = sequence + 1000'],
    ['a shard', 'delete from copies'],
  ])('copies all rows again after %s is restored to an earlier time', async (_, moveHistory) => {
    const bindings = withShards(shard)
    const org = await newOrg()
    await follow(bindings)
    await shard.batch([
      shard.prepare(moveHistory),
      // Add a row that isn't in DB, and change one that is.
      shard.prepare(
        `insert into projects (key, id, organization_key, slug, name, created_at)
         select 1000000, 'lost', organization_key, 'lost', '', 0 from projects where id = '${org.project.id}'`,
      ),
      shard.prepare(`update projects set name = 'Lost' where id = '${org.project.id}'`),
    ])
    await follow(bindings)
    expect(await rowsIn(shard)).toEqual(await rowsIn(env.DB))
    await org.owner.patch(`/api/projects/${org.project.id}`, { name: 'Later' })
    await follow(bindings)
    expect(await rowsIn(shard)).toEqual(await rowsIn(env.DB))
    const logged = await env.DB.prepare('select max(seq) as last from sqlite_sequence').first()
    await follow(bindings)
    expect(await env.DB.prepare('select max(seq) as last from sqlite_sequence').first()).toEqual(logged)
  })

  it("doesn't let a Worker that still has fewer shards delete a change that a new shard lacks", async () => {
    await follow(withShards(shard, shard))
    const org = await newOrg()
    const deadline = new Deadline(60_000)
    const [control, copy] = [openDatabase(env.DB, deadline), openDatabase(shard, deadline)]
    const logged = () =>
      env.DB.prepare('select distinct organization_key as organizationKey from copied_changes').all<{
        organizationKey: number
      }>()
    const [change] = (await logged()).results
    if (!change) throw new Error(`nothing was logged for ${org.id}`)
    await copyChanges(control, [copy], change.organizationKey)
    expect((await logged()).results).toEqual([change])
    await copyChanges(control, [copy, copy], change.organizationKey)
    expect((await logged()).results).toEqual([])
  })
})
