import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, inject, it, vi } from 'vitest'
import { shardsOfTrace } from '../../src/domain/shards.ts'
import { databases, isSharded } from '../support/database.ts'
import { type Received as ReceivedEvent, receive } from '../support/webhooks.ts'
import { isEvent, type Job, probes, type Step, sequence } from './commands.ts'
import { type Fault, fault, silence, withFault } from './faults.ts'
import { apply, type Command, EMPTY, type Event, INVALID, type World } from './model.ts'
import {
  appendEpoch,
  endRuns,
  epochsIn,
  expanded,
  modelResponseOf,
  pass,
  type Received,
  runJob,
  sendBatch,
  sendOne,
  type Tenant,
  withTenant,
} from './service.ts'
import { mustMissOnly, placesOf } from './silence.ts'
import { expectedView, queriesOf, readView, settled, textOf } from './view.ts'

/*
 * Calls are sent while epochs begin and one of the databases fails in every possible way. Afterward, reads return
 * whatever was acknowledged, a call that wasn't acknowledged can be sent again, and only the failing database's traces
 * are affected.
 */

const THOROUGHNESS = inject('propertyRuns')
const LIMIT_MS = 50_000 * THOROUGHNESS
/** On a busy machine, interrupting a run takes a while. */
const TIMEOUT_MS = LIMIT_MS + 40_000

/** A job, or calls that are sent together, and a fault that may occur at the same time. */
interface Act {
  after: number
  sent: Event[] | { type: 'delete'; trace_id: string } | Job
  fault: Fault | null
}

/** Joins calls into batches of up to three, and adds faults. */
const acts = fc
  .tuple(
    sequence(20, 0),
    fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 4 }),
    fc.array(fc.option(fault, { freq: 2 }), { minLength: 3, maxLength: 12 }),
  )
  .map(([steps, sizes, faults]) => {
    const joined: Act[] = []
    for (const { after, action } of steps) {
      const last = joined.at(-1)
      const size = sizes[joined.length % sizes.length] ?? 1
      const next = faults[joined.length % faults.length] ?? null
      if (!isEvent(action)) joined.push({ after, sent: action, fault: next })
      else if (last && Array.isArray(last.sent) && last.sent.length < size) last.sent.push(action)
      else joined.push({ after, sent: [action], fault: next })
    }
    return joined
  })

/** Sends calls, in a batch if there are several. Each call has its own result. */
const send = async (tenant: Tenant, calls: readonly Command[], client = tenant.client): Promise<Received[]> => {
  const [only] = calls
  if (only && calls.length === 1) return [await sendOne(client, only, tenant.ids)]
  return sendBatch(client, calls.filter(isEvent))
}

/**
 * The possible worlds after a call, given the worlds that were possible before it. A call that got a 503 may have taken
 * effect or not. Throws if no world explains the response.
 */
function worldsAfter(worlds: readonly World[], call: Command, { status, body }: Received, arrival: Arrival): World[] {
  const { at, place, ids } = arrival
  const next = worlds.flatMap(world => {
    const [after, expected] = apply(world, call, { at, place }, ids)
    if (status === 503) return [world, after]
    return textOf(modelResponseOf({ status, body })) === textOf(expected) ? [after] : []
  })
  if (next.length === 0) throw new Error(`${JSON.stringify(call)} returned ${status}: ${JSON.stringify(body)}`)
  return [...new Map(next.map(world => [textOf(world), world])).values()]
}

interface Arrival {
  at: number
  place: number
  ids: Tenant['ids']
}

/**
 * Determines which calls may fail because of a fault. If the fault is in the control database, all calls may fail.
 * Otherwise, only calls for traces in the database with the fault may fail.
 */
async function mayFail(tenant: Tenant, { database }: Fault): Promise<(call: Command) => boolean> {
  const [places, epochs] = [await placesOf(tenant), await epochsIn(tenant.projectId)]
  return call => {
    const traceId = 'body' in call ? call.body.trace_id : call.trace_id
    const candidates = [places.get(traceId) ?? shardsOfTrace(tenant.ids.trace(traceId), epochs, pass(0))].flat()
    return database === 0 || candidates.includes(database)
  }
}

/** Sends calls during a fault, and afterward resends those that failed. Returns the possible worlds. */
async function sendDuring(tenant: Tenant, before: readonly World[], calls: readonly Command[], fault: Fault | null) {
  let worlds: readonly World[] = before
  const at = pass(0)
  const { ids } = tenant
  const mayBeRefused = fault && (await mayFail(tenant, fault))
  const received = fault
    ? await withFault(fault, bindings => send(tenant, calls, tenant.on(bindings)))
    : await send(tenant, calls)
  const again: Command[] = []
  for (const [place, call] of calls.entries()) {
    const result = received[place] ?? { status: 0, body: undefined }
    worlds = worldsAfter(worlds, call, result, { at, place, ids })
    if (result.status !== 503) continue
    // If all valid calls in a batch fail, the whole batch fails, including its invalid calls.
    const isInvalid = before.every(world => apply(world, call, { at, place }, ids)[1] === INVALID)
    if (!isInvalid && !mayBeRefused?.(call)) {
      throw new Error(`${JSON.stringify(call)} failed with ${JSON.stringify(fault)}`)
    }
    again.push(call)
  }
  if (again.length === 0) return worlds
  const second = await send(tenant, again)
  const existed = worlds
  for (const [place, call] of again.entries()) {
    const result = second[place] ?? { status: 0, body: undefined }
    if (result.status === 503) throw new Error(`${JSON.stringify(call)} fails without a fault`)
    worlds = worldsAfter(worlds, call, result, { at: pass(0), place, ids })
    // A 404 for a trace that may have existed means that the first deletion took effect.
    if (call.type === 'delete' && result.status === 404 && existed.some(world => hasTrace(world, call.trace_id))) {
      tenant.deleted.push(ids.trace(call.trace_id))
    }
  }
  return worlds
}

const hasTrace = (world: World, id: string): boolean => world.some(({ traceId }) => traceId === id)

/** How many acts have been performed. With several databases, a new epoch begins at every third act. */
let played = 0

async function play(tenant: Tenant, drawn: readonly Act[]): Promise<readonly World[]> {
  let worlds: readonly World[] = [EMPTY]
  for (const { after, sent, fault } of drawn) {
    if (isSharded && ++played % 3 === 0) await appendEpoch(tenant.projectId, played / 3)
    pass(after)
    if (Array.isArray(sent)) worlds = await sendDuring(tenant, worlds, sent, fault)
    else if (sent.type === 'delete') worlds = await sendDuring(tenant, worlds, [sent], fault)
    else if (fault) await withFault(fault, bindings => runJob(tenant, sent, bindings)).catch(() => {})
    else await runJob(tenant, sent)
  }
  return worlds
}

/** Asserts that one of the worlds explains what reads return, and returns that world. */
async function mustReadOne(tenant: Tenant, worlds: readonly World[], queries: ReturnType<typeof queriesOf>) {
  const read = await readView(tenant.client, tenant.ids, queries)
  const found = worlds.find(world => {
    const expected = expectedView(world, tenant.ids, queries)
    return textOf(settled(read, expected)) === textOf(expected)
  })
  if (!found) throw new Error(`none of ${textOf(worlds)} explains ${textOf(read)}`)
  return found
}

let received: readonly ReceivedEvent[]
beforeEach(() => {
  received = receive()
  // Other tests check that faults are logged.
  vi.spyOn(console, 'error').mockImplementation(() => {})
})

afterEach(async () => {
  await endRuns()
  vi.useRealTimers()
  vi.restoreAllMocks()
}, 120_000)

// If there's only one database, `npm test` skips this test, because test/endpoints/faults.test.ts covers that case.
describe.runIf(isSharded || THOROUGHNESS > 1)('while one of the databases fails', () => {
  it('reads show every acknowledged call, and only that database’s traces are missing', { timeout: TIMEOUT_MS }, () =>
    fc.assert(
      fc.asyncProperty(acts, probes, fc.constantFrom('before', 'never'), fc.nat(), (drawn, probed, moment, number) =>
        withTenant(received, async tenant => {
          const own = drawn.map(act => ({ ...act, sent: ownCalls(act.sent, tenant) }))
          const steps = own.flatMap(({ sent }) => (Array.isArray(sent) ? sent.map(toStep) : []))
          const queries = queriesOf(probed, steps)
          const world = await mustReadOne(tenant, await play(tenant, own), queries)
          if (!isSharded) return
          const silent = 1 + (number % (databases.length - 1))
          await mustMissOnly(tenant, world, silence(silent, moment), queries.slice(0, 1))
        }),
      ),
      { numRuns: 15 * THOROUGHNESS, interruptAfterTimeLimit: LIMIT_MS },
    ),
  )
})

const ownCalls = (sent: Act['sent'], { ids }: Tenant): Act['sent'] =>
  Array.isArray(sent) ? sent.map(event => expanded(event, ids)) : sent

const toStep = (action: Event): Step => ({ after: 0, action })
