import { createExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import * as v from 'valibot'
import { afterAll, beforeAll, describe, it, vi } from 'vitest'
import type { Contract } from '../../src/api/contract.ts'
import { endpoints } from '../../src/app.ts'
import { makeKey } from '../../src/auth/keys.ts'
import { EVENT_TYPES } from '../../src/domain/webhook.ts'
import type { Env, Job } from '../../src/env.ts'
import { ATTRIBUTION_WAIT_MS, INLINE_BYTES } from '../../src/limits.ts'
import { HOMES } from '../../src/store/schema/homes.ts'
import { type Intercept, wrapBindings } from '../support/bindings.ts'
import { aFeedback, anObservation, aSpan, aTrace } from '../support/builders.ts'
import { databases, isSharded, stored } from '../support/database.ts'
import { type ApiResponse, client, newOrg, type Org, REVIEWER_EMAIL, sendIn } from '../support/org.ts'
import { methodOf, newWorld, renew, sampleOf, successesOf, type World } from '../support/samples.ts'
import { ORIGIN, signIn } from '../support/session.ts'
import { Flight, passTime } from '../support/simulated-time.ts'
import { columnsIn } from '../support/stored.ts'
import { anExport, anExportedSpan, exportSpans } from '../support/telemetry.ts'
import { receive } from '../support/webhooks.ts'

/*
 * Injects every possible fault into every call that a request makes to D1, R2, the queue, or the limiter. Time is
 * simulated. It advances to the next timer only while nothing but a hanging call is in flight. The tests therefore
 * measure how long the service waits, no matter how slow the machine is.
 *
 * `npm test` tries a fifth of the combinations, or more if a request makes few calls: every fault on every request, and
 * a fault at every call, but not every fault at every call. Each request gets a different fifth, so calls that all
 * requests make, such as authentication, meet every fault. A call that stores nothing skips the faults that differ from
 * other faults only in that the call takes effect. ALL_FAULTS=yes tries all combinations, as `.ci/nightly` does.
 */

/** The reference client and OpenTelemetry's exporters give up on a request after these timeouts. */
const CLIENT_TIMEOUT_MS = 5000
const EXPORTER_TIMEOUT_MS = 10_000

/** How long a request may wait. Only a request for an attribution may wait longer, for its result. */
const timeoutOf = ({ family, location }: Contract) =>
  family === 'otlp' ? EXPORTER_TIMEOUT_MS : CLIENT_TIMEOUT_MS + (location === 202 ? ATTRIBUTION_WAIT_MS : 0)

/** Whether a request must be sent again to finish. A request that only starts a job never returns its result. */
const isUnfinished = ({ location, responses }: Contract, response: ApiResponse): boolean =>
  statusesOf(response).includes(503) || (location === 202 && 200 in responses && response.status === 202)

type Binding = Parameters<Intercept>[0]

/** Transient faults, after which a second attempt is worthwhile, and faults that a second attempt would make worse. */
const PASSING: Record<Binding, string> = {
  DB: 'D1_ERROR: Network connection lost.',
  PAYLOADS: 'put: We encountered an internal error. Please try again. (10001)',
  RATE_LIMITER: 'Network connection lost.',
  JOBS: 'Queue sendBatch failed: Too Many Requests',
}
const LASTING: Record<Binding, string> = {
  DB: 'D1_ERROR: D1 DB is overloaded. Requests queued for too long.',
  PAYLOADS: 'put: Reduce your concurrent request rate for the same object. (10058)',
  RATE_LIMITER: 'Durable Object is overloaded. Requests queued for too long.',
  JOBS: 'Queue is overloaded. Please back off.',
}

/** A call that a request made, and whether it stored something. */
interface Call {
  binding: Binding
  stores: boolean
}

interface Fault {
  message?: Record<Binding, string>
  /** Whether the call takes effect and only its response is lost. */
  takesEffect: boolean
  /** Whether every later call fails the same way. */
  stays: boolean
  /** Whether the request succeeds anyway, at the cost of one more attempt. */
  isHidden: boolean
}

/** A fault, and the number of the call that it hits. The first call is number 0. */
interface Strike {
  fault: Fault
  at: number
}

const FAULTS: Record<string, Fault> = {
  'fails once': { message: PASSING, takesEffect: false, stays: false, isHidden: true },
  'loses its response': { message: PASSING, takesEffect: true, stays: false, isHidden: true },
  'is refused': { message: LASTING, takesEffect: false, stays: false, isHidden: false },
  'takes effect but reports an error': { message: LASTING, takesEffect: true, stays: false, isHidden: false },
  'hangs once': { takesEffect: false, stays: false, isHidden: true },
  'takes effect and hangs': { takesEffect: true, stays: false, isHidden: true },
  'is the first of many that lose their responses': {
    message: PASSING,
    takesEffect: true,
    stays: true,
    isHidden: false,
  },
  'is the first of many that hang': { takesEffect: false, stays: true, isHidden: false },
}

const FIFTH = 5

/** Whether a fault differs from another one only if the call that it hits stores something. */
const isOfStoring = ({ takesEffect, stays }: Fault): boolean => takesEffect && !stays && env.ALL_FAULTS === ''

/**
 * The faults to try on a request, and the call that each hits. Each request gets every fault that can make a
 * difference, and each call gets at least one. If a fault can hit only one or two calls, it hits all of them.
 */
function strikesOn(calls: readonly Call[], request: number): (readonly [string, Strike])[] {
  const faults = Object.entries(FAULTS)
  const all = [...calls.keys()]
  const groups = [
    { kinds: faults.filter(([, fault]) => !isOfStoring(fault)), places: all },
    { kinds: faults.filter(([, fault]) => isOfStoring(fault)), places: all.filter(at => calls[at]?.stores) },
  ]
  return groups.flatMap(({ kinds, places }) => {
    const isTried = (number: number) =>
      env.ALL_FAULTS !== '' || places.length < 3 || (number + request) % Math.min(places.length, FIFTH) === 0
    return product(kinds.entries(), places.entries())
      .filter(([[kind], [place]]) => isTried(kind + place))
      .map(([[, [kind, fault]], [, at]]) => [kind, { fault, at }] as const)
  })
}

const isDeletion = ({ method, path }: Contract) => method === 'DELETE' || path.endsWith('/delete')

/** Whether a request uses up its test data, so that it can't be sent again. */
const isSpending = (contract: Contract) =>
  isDeletion(contract) ||
  contract.method === 'PATCH' ||
  /(rotate|active-version|step-names|review|reviews|claim|assign|attribute|results|finish|cancel|webhooks)$/.test(
    contract.path,
  )

const largeText = 'x'.repeat(INLINE_BYTES + 1)

/** A trace from telemetry that exists before the tests. */
const KNOWN_TRACE = 'f'.repeat(32)

/** Requests beyond the samples: with client ids, and with values that go to R2. */
const variants: Record<string, Record<string, (world: World) => object>> = {
  'POST /v1/traces': {
    'with large values': () =>
      anExport([anExportedSpan({ attributes: { 'input.value': largeText, 'output.value': largeText } })]),
    'for an existing trace': () =>
      anExport([anExportedSpan({ traceId: KNOWN_TRACE, attributes: { 'session.id': crypto.randomUUID() } })]),
  },
  'POST /api/v1/observations': {
    'with an id': ({ traceId }) => anObservation({ trace_id: traceId, observation_id: crypto.randomUUID() }),
    'with large data': ({ traceId }) =>
      anObservation({ trace_id: traceId, observation_id: crypto.randomUUID(), data: largeText }),
  },
  'POST /api/v1/spans': {
    'with large values': ({ traceId }) => aSpan({ trace_id: traceId, input: largeText, output: largeText }),
    'with a prompt version': ({ traceId, prompt }) => aSpan({ trace_id: traceId, prompt_version_id: prompt.versionId }),
  },
  'POST /api/reviews': {
    'with an import': ({ spanId }) => ({
      reviews: [{ spanId, decision: 'accept', source: 'import', by: REVIEWER_EMAIL, at: '2026-11-01T12:00:00.000Z' }],
    }),
  },
  'POST /api/spans/{spanId}/feedback': {
    'with an id': () => ({ content: 'Why so?', id: crypto.randomUUID() }),
  },
  'POST /api/v1/feedback': {
    'with an id': ({ traceId }) => aFeedback({ trace_id: traceId, feedback_id: crypto.randomUUID() }),
    'with a labeler': ({ traceId }) =>
      aFeedback({
        trace_id: traceId,
        feedback_id: crypto.randomUUID(),
        labeller: { email: `${crypto.randomUUID()}@example.com` },
      }),
  },
  'POST /api/v1/traces': {
    'that changes metadata': ({ traceId }) =>
      aTrace({ trace_id: traceId, status: 'completed', metadata: { [crypto.randomUUID()]: 1 } }),
  },
  'POST /api/v1/batch': {
    'with all kinds of events': ({ traceId }) => {
      const trace = aTrace()
      return {
        events: [
          { type: 'trace', body: trace },
          { type: 'span', body: aSpan({ trace_id: trace.trace_id, output: largeText }) },
          { type: 'observation', body: anObservation({ trace_id: traceId, observation_id: crypto.randomUUID() }) },
          { type: 'feedback', body: aFeedback({ trace_id: traceId, feedback_id: crypto.randomUUID() }) },
        ],
      }
    },
  },
}

/**
 * Calls without a client id take effect once for each request that the service receives. These include ingestion
 * samples that have no id.
 */
const WITHOUT_ID = [
  'POST /api/v1/observations',
  'POST /api/v1/feedback',
  'POST /api/spans/{spanId}/feedback',
  'POST /api/prompts/{promptId}/versions',
  'POST /api/knowledge-docs/{docId}/versions',
  'POST /api/api-keys',
  'POST /api/api-keys/{keyId}/rotate',
  'POST /api/orgs/{slug}/api-keys',
  'POST /api/session',
  'POST /api/sign-in-links',
  'POST /api/webhooks/{webhookId}/rotate-secret',
  'POST /api/webhooks/{webhookId}/test',
  'POST /api/webhooks/{webhookId}/deliveries/{deliveryId}/replay',
]

/** The first call to each of these endpoints adds what later calls find or replace. */
const ADDS_ONCE = [
  'POST /api/v1/traces/{trace_id}/attribute',
  'PUT /api/spans/{spanId}/review',
  'GET /api/problems',
  'PUT /api/projects/{projectId}/review-policy',
  'POST /api/webhooks/{webhookId}/rotate-secret',
]

/** Endpoints that store an agent's decisions as suggestions. */
const BY_AGENTS = ['PUT /api/spans/{spanId}/review', 'POST /api/reviews']

const requests = endpoints
  .map(({ contract }) => contract)
  .filter(({ scope, path, managesSession }) => scope !== 'public' || path === '/readyz' || managesSession)
  // This endpoint needs Cloudflare Access, so `test/auth/access.test.ts` covers it.
  .filter(({ path }) => path !== '/api/session/organizations')
  // Exports behave the same at each path, so one is enough.
  .filter(({ path, family }) => family !== 'otlp' || path.startsWith('/v1/'))
  .flatMap(contract => {
    const name = `${contract.method} ${contract.path}`
    const body = sampleOf(contract).body
    return [
      { name, contract, body, hasId: !WITHOUT_ID.includes(name), actsAs: 'person' },
      ...(BY_AGENTS.includes(name)
        ? [{ name: `${name} by an agent`, contract, body, hasId: true, actsAs: 'agent' }]
        : []),
      ...Object.entries(variants[name] ?? {}).map(([variant, body]) => {
        return { name: `${name} ${variant}`, contract, body, hasId: true, actsAs: 'person' }
      }),
    ]
  })

describe('a request survives any fault in any platform call', () => {
  let org: Org
  let common: World
  let countings: Counting[]
  /** The id of the key that each kind of caller uses. */
  const keyIds = new Map<string, string>()
  beforeAll(async () => {
    // Other tests check that faults are logged.
    vi.spyOn(console, 'error').mockImplementation(() => {})
    org = await newOrg()
    // Every request records events for its changes. The events are counted even if they're dropped.
    receive()
    for (const database of databases) {
      await database.batch([
        database.prepare('create table recorded_events (type)'),
        database.prepare(`create trigger record_events after insert on webhook_events
          begin insert into recorded_events values (new.type); end`),
      ])
    }
    await org.owner.post('/api/webhooks', { url: 'https://hooks.example.com/in', events: EVENT_TYPES })
    // These calls come before time is simulated because they yield, and nothing would advance the simulated time.
    await exportSpans(org, [anExportedSpan({ traceId: KNOWN_TRACE, attributes: { 'session.id': 'known' } })])
    common = await newWorld(org)
    for (const actsAs of ['person', 'agent']) {
      const draft = { name: 'Cold', scopes: ALL_SCOPES, userId: org.userId, actsAs }
      keyIds.set(actsAs, (await org.owner.post('/api/api-keys', draft)).body.id)
    }
    countings = await Promise.all(databases.map(prepareCounting))
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
  })
  afterAll(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })

  it.for(requests)('$name', { timeout: 240_000 }, async (request, { expect }) => {
    const { name, contract, hasId } = request
    const successes = successesOf(contract)
    if (ADDS_ONCE.includes(name)) await attempt(request)
    const clean = await attempt(request)
    expect(outsideOf(successes, clean.first)).toEqual([])
    expect(clean.calls.length).toBeGreaterThan(0)
    for (const [kind, strike] of strikesOn(clean.calls, requests.indexOf(request))) {
      const { fault, at } = strike
      const place = `${clean.calls[at]?.binding} (call ${at + 1} of ${clean.calls.length}) ${kind}`
      const { first, waitedMs, retried, added } = await attempt(request, strike)
      expect(outsideOf(fault.isHidden ? successes : [...successes, 503], first), place).toEqual([])
      if (first.status === 503) expect(Number(first.headers.get('retry-after')), place).toBeGreaterThanOrEqual(1)
      expect(waitedMs, place).toBeLessThan(timeoutOf(contract))
      // If the resource already exists or is already gone, the first request took effect.
      const isDone = [...successes, 409, ...(isDeletion(contract) ? [404] : [])]
      if (retried) expect(outsideOf(isDone, retried), place).toEqual([])
      if (hasId || !retried) expect(added, place).toEqual(clean.added)
      else expect(isOnceOrTwice(added, clean.added), `${place} adds ${JSON.stringify(added)}`).toBe(true)
    }
  })

  interface Attempt {
    first: ApiResponse
    /** The calls that the request made, in order. */
    calls: Call[]
    waitedMs: number
    /** The response to the same request without a fault, sent if `first` asks for a retry or has no result yet. */
    retried: ApiResponse | undefined
    /** How many values both requests added to each column. */
    added: Record<string, number>
  }

  /** The key of a person or an agent, with an id and a secret that this isolate hasn't cached. */
  async function coldKey(actsAs: string): Promise<string> {
    const { secret, prefix, hash } = await makeKey()
    const [earlier, id] = [keyIds.get(actsAs), crypto.randomUUID()]
    const update = stored.prepare('update api_keys set id = ?, prefix = ?, hash = ? where id = ?')
    await update.bind(id, prefix, hash, earlier).run()
    keyIds.set(actsAs, id)
    return secret
  }

  /** Sends a request with one fault or none. */
  async function attempt({ contract, body, actsAs }: (typeof requests)[number], strike?: Strike): Promise<Attempt> {
    const sample = { path: sampleOf(contract).path, body }
    const world = isSpending(contract) ? await renew(common, sample) : common
    const key = await coldKey(actsAs)
    const headers = {
      authorization: `Bearer ${contract.scope === 'admin' ? env.ADMIN_TOKEN : key}`,
      'x-project-slug': 'support',
    }
    const path = sample.path(world)
    const sent = body?.(world)
    if (contract.managesSession) Object.assign(headers, { origin: ORIGIN, cookie: await signIn(key) })
    const before = await countAll(countings)
    const faulted = bindingsWith(strike)
    const context = createExecutionContext()
    const start = Date.now()
    const faulty = client(headers, faulted.bindings, request => sendIn(context, request, faulted.bindings))
    const withoutFault = bindingsWith(undefined)
    const again = client(headers, withoutFault.bindings, request => sendIn(context, request, withoutFault.bindings))
    const first = await passTime(faulty[methodOf(contract)](path, sent), faulted.flight)
    const waitedMs = Date.now() - start
    let retried: ApiResponse | undefined
    for (let last = first; isUnfinished(contract, last); last = retried) {
      retried = await passTime(again[methodOf(contract)](path, sent), withoutFault.flight)
    }
    const after = await countAll(countings)
    return { first, calls: faulted.calls, waitedMs, retried, added: difference(after, before) }
  }
})

/** The status of a response, or the statuses of a batch's events. */
const statusesOf = ({ status, body }: ApiResponse): number[] =>
  status === 207 ? body.results.map((result: { status: number }) => result.status) : [status]

/** The statuses in a response that aren't allowed. Any success is fine for an event in a batch. */
const outsideOf = (allowed: readonly number[], response: ApiResponse): number[] =>
  statusesOf(response).filter(status => !(response.status === 207 && status < 300) && !allowed.includes(status))

const ALL_SCOPES = ['ingest', 'read', 'review', 'manage']

/** Whether a call may have stored something other than the limiter's count, judging by its result. */
const hasStored = (binding: Binding, result: unknown): boolean =>
  binding === 'DB' ? [result].flat().some(each => v.is(Written, each)) : binding !== 'RATE_LIMITER'

const Written = v.object({ meta: v.object({ rows_written: v.pipe(v.number(), v.minValue(1)) }) })

/** Bindings with a fault in one call, the calls that were made, and what's in flight. */
function bindingsWith(strike: Strike | undefined) {
  const calls: Call[] = []
  const flight = new Flight()
  const faultAt = (index: number) =>
    strike && (index === strike.at || (strike.fault.stays && index > strike.at)) ? strike.fault : undefined
  const intercept: Intercept = async (binding, call) => {
    const made: Call = { binding, stores: false }
    const fault = faultAt(calls.push(made) - 1)
    const takeEffect = async () => {
      const result = await flight.run(call)
      made.stores = hasStored(binding, result)
      return result
    }
    if (!fault) return takeEffect()
    if (fault.takesEffect) await takeEffect()
    if (fault.message) throw new Error(fault.message[binding])
    return flight.hang()
  }
  return { bindings: withoutConsumer(wrapBindings(intercept), intercept), calls, flight }
}

/** Leaves out the queue's consumer, whose effects aren't those of the request. */
function withoutConsumer(bindings: Env, intercept: Intercept): Env {
  const queue = { send: () => intercept('JOBS', async () => 'sent') } as unknown as Queue<Job>
  return { ...bindings, JOBS: queue, EVENTS: queue }
}

/** Tables whose counts are compared as sums, because only the first decision of a day or a step adds a row. */
const COUNTERS: Readonly<Record<string, string[]>> = {
  review_days: ['accepted', 'corrected'],
  answer_days: ['answers'],
  problem_days: ['by_reviewers', 'by_engine'],
  datasets: ['accepted', 'corrected', 'imported'],
  // A problem's first case in each database adds its id there.
  ...(isSharded && { problem_ids: [] }),
}

/**
 * Tables that can change at any time because events are sent, with the columns to count. `recorded_events` contains the
 * events.
 */
const SENDING: Readonly<Record<string, string[]>> = { webhooks: ['id'], webhook_events: [], webhook_deliveries: [] }

interface Counting {
  /** The columns in each table. */
  columns: Map<string, string[]>
  statement: D1PreparedStatement
}

/**
 * A statement that returns a column for each table, with the counts for the table's columns. A batch with a statement
 * for each table would take twice as long.
 */
async function prepareCounting(database: D1Database): Promise<Counting> {
  const all = await columnsIn(database)
  const counted = [...all].map(([table, names]) => [table, COUNTERS[table] ?? SENDING[table] ?? names] as const)
  const columns = new Map(counted.filter(([table, names]) => names.length > 0 && !isCopy(database, table)))
  const selected = [...columns].map(([table, names]) => {
    const counts = names.map(name => (table in COUNTERS ? `coalesce(sum("${name}"), 0)` : `count("${name}")`))
    // A function takes at most 32 arguments.
    const parts = chunksOf(counts, 31).map(part => `concat_ws(' ', ${part.join(', ')})`)
    return `(select concat_ws(' ', ${parts.join(', ')}) from "${table}") as "${table}"`
  })
  return { columns, statement: database.prepare(`select ${selected.join(', ')}`) }
}

/** Whether cron may still have to change a table in a database after a fault, to copy the control database's rows. */
const isCopy = (database: D1Database, table: string): boolean =>
  ['copies', 'copied_changes'].includes(table) || (database !== env.DB && COPIED.has(table))

const COPIED = new Set(Object.entries(HOMES).flatMap(([table, home]) => (home === 'copied' ? [table] : [])))

/** The number of rows that have a value, for each column of each table, in all databases. */
async function countAll(countings: readonly Counting[]): Promise<Record<string, number>> {
  const sum: Record<string, number> = {}
  for (const counts of await Promise.all(countings.map(countValues))) {
    for (const [column, count] of Object.entries(counts)) sum[column] = (sum[column] ?? 0) + count
  }
  return sum
}

/** The number of rows that have a value, for each column of each table, in one database. */
async function countValues({ columns, statement }: Counting): Promise<Record<string, number>> {
  const row = (await statement.first<Record<string, string>>()) ?? {}
  return Object.fromEntries(
    [...columns].flatMap(([table, names]) => {
      const counts = row[table]?.split(' ')
      return names.map(name => [`${table}.${name}`, Number(counts?.shift())])
    }),
  )
}

function difference(after: Record<string, number>, before: Record<string, number>): Record<string, number> {
  const changes = Object.entries(after).map(([column, count]) => [column, count - (before[column] ?? 0)] as const)
  return Object.fromEntries(changes.filter(([, change]) => change !== 0))
}

const isOnceOrTwice = (added: Record<string, number>, once: Record<string, number>): boolean =>
  Object.keys({ ...added, ...once }).every(column => {
    const count = added[column] ?? 0
    const least = once[column] ?? 0
    return count >= least && count <= 2 * least
  })

function chunksOf<T>(values: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(values.length / size) }, (_, index) =>
    values.slice(index * size, (index + 1) * size),
  )
}

function product<A, B>(left: Iterable<A>, right: Iterable<B>): (readonly [A, B])[] {
  const all = [...right]
  return [...left].flatMap(a => all.map(b => [a, b] as const))
}
