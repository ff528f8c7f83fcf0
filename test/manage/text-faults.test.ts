import { env } from 'cloudflare:workers'
import { describe, it } from 'vitest'
import type { Env } from '../../src/env.ts'
import { failingAt, wrapBindings } from '../support/bindings.ts'
import { isSharded } from '../support/database.ts'
import { newOrg } from '../support/org.ts'
import { aText, kindsOfText, newText, storedText } from '../support/texts.ts'

const LOST = 'D1_ERROR: Network connection lost.'
const OVERLOADED = 'D1_ERROR: D1 DB is overloaded. Requests queued for too long.'

/** Bindings with which every D1 batch fails at the statement at position `place`. */
const breakingOffAt = (place: number): Env => ({
  ...env,
  DB: new Proxy(env.DB, {
    get: (database, property) =>
      property === 'batch'
        ? (statements: D1PreparedStatement[]) =>
            database.batch(statements.toSpliced(place, 0, database.prepare('select no_such_function()')))
        : Reflect.get(database, property).bind(database),
  }),
})

/** Writes, with the number of D1 calls, and the resulting number of versions and content of the active version. */
const writes = [
  { write: 'a creation', calls: 1, versions: 1, content: 'First' },
  { write: 'a version', calls: 2, versions: 3, content: 'Third' },
  { write: 'an activation', calls: 3, versions: 2, content: 'Second' },
] as const
const cases = kindsOfText.flatMap(kind => writes.map(write => ({ ...write, kind, path: kind.path })))

describe.for(cases)('$write at $path', ({ kind, write, calls, versions, content }) => {
  /** Creates a tenant, and a function that does the write with the given bindings. */
  const prepare = async () => {
    const org = await newOrg()
    if (write === 'a creation') {
      // The isolate has cached the project.
      await newText(kind, org, 'warm')
      const run = (bindings: Env) => org.clientOf(org.ownerKey, bindings).post(kind.path, aText(kind, 'answer'))
      return { org, run }
    }
    const text = await newText(kind, org)
    const second = (await text.add({ content: 'Second', activate: false })).body.id
    const run = (bindings: Env) => {
      const owner = org.clientOf(org.ownerKey, bindings)
      return write === 'a version' ? text.add({ content: 'Third' }, owner) : text.activate(second, owner)
    }
    return { org, run }
  }
  const stored = async (org: Awaited<ReturnType<typeof newOrg>>) => {
    const { body } = await org.read.get(`${kind.path}?projectSlug=support&${kind.named}=answer`)
    const [item] = body[kind.list]
    if (!item) return undefined
    const { versions, active, activations } = await storedText(item.id)
    return { versions: versions.length, active: active.length, activations: activations.length, content: item.content }
  }
  const activations = write === 'a creation' ? 1 : 2

  const faults = Array.from({ length: calls }, (_, index) => index + 1).flatMap(place =>
    (['before', 'after'] as const).map(when => ({ place, when })),
  )
  const done = { versions, active: 1, activations, content }

  it.for(faults)(
    'takes effect once if the response to D1 call $place is lost $when the commit',
    async ({ place, when }, { expect }) => {
      const { org, run } = await prepare()
      let reached = 0
      const fail = failingAt(place, LOST, when)
      const bindings = wrapBindings((binding, call) => {
        reached++
        return fail(binding, call)
      })
      const response = await run(bindings)
      expect(response.status).toBe(write === 'an activation' ? 200 : 201)
      expect(await stored(org)).toEqual(done)
      if (write === 'a version') expect(response.body).toMatchObject({ content, isActive: true })
      else expect(response.body).toMatchObject({ content, [kind.named]: 'answer' })
      // Only one call was repeated, so the table above counts every call. With several databases, more calls follow to
      // copy the texts.
      if (!isSharded) expect(reached).toBe(calls + 1)
    },
  )

  it.for(faults)(
    'returns a 503 and takes effect entirely or not at all if D1 fails at call $place $when the commit',
    async ({ place, when }, { expect }) => {
      const { org, run } = await prepare()
      const before = await stored(org)
      const response = await run(wrapBindings(failingAt(place, OVERLOADED, when)))
      expect(response).toMatchObject({
        status: 503,
        body: { code: 'unavailable', error: 'Temporarily unavailable; please retry' },
      })
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(await stored(org)).toEqual(place === calls && when === 'after' ? done : before)
    },
  )

  it('changes nothing if its batch fails at any statement', async ({ expect }) => {
    const { org, run } = await prepare()
    const before = await stored(org)
    for (const place of [0, 1, 2, 3, 4, 5, 6]) {
      expect((await run(breakingOffAt(place))).status).toBe(503)
      expect(await stored(org)).toEqual(before)
    }
  })
})
