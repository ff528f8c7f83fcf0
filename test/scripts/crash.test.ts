import type { Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import * as v from 'valibot'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { listOf } from '../properties/model.ts'
import { Client, CutOff } from './crash/client.ts'
import { Envelope, EVENTS, EventLedger } from './crash/events.ts'
import { managementWriter } from './crash/management.ts'
import { reviewWriter } from './crash/reviews.ts'
import { comparable, idsIn, random, type Subject, type Tenant } from './crash/subject.ts'
import { traceWriter, WrittenTrace } from './crash/trace.ts'
import { ADMIN_TOKEN, newServer, runCron, type Server } from './server.ts'

/*
 * Kills the whole server with SIGKILL while it writes, restarts it, and checks that every acknowledged write exists and
 * that no write is partial. Every change that took effect must also have an event, which a webhook delivers at least
 * once. `npm run test:crash` runs longer and under more load, and waits for deliveries that were cut off. With
 * `SHARDS=4`, it does so with four databases for traces.
 */

const { rounds, seconds, writers, isThorough } = process.env.CRASH_SECONDS
  ? { rounds: 10, seconds: Number(process.env.CRASH_SECONDS), writers: 48, isThorough: true }
  : { rounds: 3, seconds: 1, writers: 16, isThorough: false }

/** The number of concurrent calls that read the writes back. */
const READERS = 8

/** How long events may take after the last restart. A delivery that was cut off remains leased for two minutes. */
const DELIVERY_TIMEOUT_MS = 300_000

let server: Server
let events: EventLedger
let receiver: HttpServer

beforeEach(async () => {
  server = await newServer()
  events = new EventLedger()
  receiver = await events.receive()
})

afterEach(async () => {
  await server.remove()
  receiver.close()
  receiver.closeAllConnections()
})

it('keeps every acknowledged write if it is killed and restarted', {
  timeout: rounds * (60 + 10 * seconds) * 1000 + DELIVERY_TIMEOUT_MS,
}, async ({ annotate }) => {
  await startServer()
  // If SHARDS is set, new projects use the shards as soon as cron has copied everything to them.
  if (process.env.SHARDS) for (let run = 0; run < 3; run++) await runCron(server.url)
  const tenant = await newTenant()
  const { client } = tenant
  const ledger: Subject[] = []
  const writes = await Promise.all(
    [managementWriter, managementWriter, reviewWriter, reviewWriter].map(newWriter =>
      newWriter(tenant, ledger, events),
    ),
  )
  while (writes.length < writers) writes.push(traceWriter(tenant, ledger, events))
  let acknowledged = 0
  for (let round = 1; round <= rounds; round++) {
    const before = { acknowledged, cutOff: client.cutOff }
    const load = Promise.all(
      writes.map(write =>
        untilCutOff(async () => {
          const calls = await write()
          acknowledged += calls
        }),
      ),
    )
    await Promise.race([load, setTimeout(random.whole(500, 1000) * seconds)])
    client.isDying = true
    await server.kill()
    await load
    expect(await server.isServing()).toBe(false)
    const [writesDone, cutOff] = [acknowledged - before.acknowledged, client.cutOff - before.cutOff]
    await annotate(`Round ${round}: ${writesDone} writes acknowledged, ${cutOff} requests cut off in mid-flight`)
    await startServer()
    client.isDying = false
    await mustBeWhole(tenant, ledger)
  }
  await mustArrive(tenant)
  await annotate(`${events.arrivedCount} events arrived`)
  // Otherwise, the server was killed while idle.
  expect(acknowledged).toBeGreaterThan(0)
  expect(client.cutOff).toBeGreaterThan(0)
})

async function startServer(): Promise<void> {
  expect(await server.start({ SEED: 'none', ALLOW_LOCAL_WEBHOOKS: '1' })).toContain('Countersign is running')
}

/** Creates a project in a new organization, and a key for the project that has practically no rate limit. */
async function newTenant(): Promise<Tenant> {
  const admin = new Client(server.url, ADMIN_TOKEN)
  const Organization = v.object({ apiKey: v.object({ key: v.string() }) })
  const { apiKey } = v.parse(Organization, await admin.make('POST', '/api/orgs', { slug: 'crash', name: 'Crash' }))
  const owner = admin.withKey(apiKey.key)
  const { port } = receiver.address() as AddressInfo
  await owner.make('POST', '/api/webhooks', { url: `http://localhost:${port}`, events: EVENTS })
  const Project = v.object({ id: v.string(), slug: v.string() })
  const project = v.parse(Project, await owner.make('POST', '/api/projects', { slug: 'crash', name: 'Crash' }))
  const scopes = ['ingest', 'read', 'review', 'manage']
  const draft = { name: 'Crash', projectSlug: 'crash', scopes, rateLimitPerMinute: 1_000_000 }
  const Key = v.object({ id: v.string(), key: v.string() })
  const { id: caller, key } = v.parse(Key, await owner.make('POST', '/api/api-keys', draft))
  const client = owner.withKey(key)
  const Prompt = v.object({ id: v.string(), versionId: v.string() })
  const prompt = { projectSlug: 'crash', stepId: 'step', content: 'Answer.' }
  const { id, versionId } = v.parse(Prompt, await client.make('POST', '/api/prompts', prompt))
  events.expect('prompt.activated', id)
  return { client, ids: idsIn(project, { promptVersion: versionId, caller }) }
}

/** Keeps writing until the server dies. */
async function untilCutOff(write: () => Promise<void>): Promise<void> {
  try {
    for (;;) await write()
  } catch (error) {
    if (!(error instanceof CutOff)) throw error
  }
}

/**
 * All acknowledged writes must exist. An interrupted call may have taken effect fully, partially, or not at all. After
 * it's repeated, it must have taken effect exactly once.
 */
async function mustBeWhole(tenant: Tenant, ledger: readonly Subject[]): Promise<void> {
  const undecided: Subject[] = []
  await inParallel(ledger, async subject => {
    const views = subject.views()
    const read = await subject.read()
    const place = views.findIndex(view => isDeepStrictEqual(view, read))
    expect(read).toEqual(views.at(place))
    if (views.length > 1) undecided.push(subject)
    subject.settle(place)
  })
  await mustBeListed(tenant, ledger)
  await inParallel(undecided, async subject => {
    await subject.repeat()
    expect(await subject.read()).toEqual(subject.views()[0])
  })
  await mustBeListed(tenant, ledger)
}

async function mustBeListed({ client, ids }: Tenant, ledger: readonly Subject[]): Promise<void> {
  const world = ledger.flatMap(subject => (subject instanceof WrittenTrace ? subject.state : []))
  for (const phase of [undefined, 'open', 'done']) {
    const query = { fields: phase ? [{ path: 'phase', value: phase }] : [] }
    const filter = phase ? `&metadata.phase=${phase}` : ''
    const listed = await client.pages(
      `/api/traces?projectSlug=crash&name=crash&limit=200${filter}`,
      'traces',
      'nextCursor',
    )
    expect(comparable(listed)).toEqual(comparable(listOf(world, query, ids)))
  }
}

/**
 * Each change that took effect must have one event, and each event must arrive. A shorter run doesn't wait for
 * deliveries that the last kill cut off: it's enough if they're still pending.
 */
async function mustArrive({ client }: Tenant): Promise<void> {
  const { webhooks } = v.parse(Webhooks, await client.make('GET', '/api/webhooks?projectSlug=crash'))
  const isLate = Date.now() + DELIVERY_TIMEOUT_MS
  while (events.differences().length > 0 && Date.now() < isLate) {
    await runCron(server.url)
    for (const { id } of isThorough ? [] : webhooks) {
      const path = `/api/webhooks/${id}/deliveries?state=pending&limit=200`
      for (const pending of v.parse(v.array(Pending), await client.pages(path, 'deliveries', 'nextCursor'))) {
        events.arrive(pending.id, pending.request.body)
      }
    }
    await setTimeout(1000)
  }
  expect(events.differences()).toEqual([])
  expect(events.arrivedCount).toBeGreaterThan(0)
}

const Webhooks = v.object({ webhooks: v.array(v.object({ id: v.string() })) })
const Pending = v.object({ id: v.string(), request: v.object({ body: Envelope }) })

async function inParallel<Item>(items: readonly Item[], task: (item: Item) => Promise<void>): Promise<void> {
  const queue = items.values()
  const readers = Array.from({ length: READERS }, async () => {
    for (const item of queue) await task(item)
  })
  await Promise.all(readers)
}
