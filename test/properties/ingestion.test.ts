import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, inject, it, vi } from 'vitest'
import { wrapBindings } from '../support/bindings.ts'
import { isSharded } from '../support/database.ts'
import { type Received as ReceivedEvent, receive } from '../support/webhooks.ts'
import { crowd, isCommand, isEvent, type Probe, probes, racers, type Step, sequence, sizes } from './commands.ts'
import { apply, EMPTY, type Event, type World } from './model.ts'
import { assertExplainable, race } from './races.ts'
import {
  anonymous,
  appendEpoch,
  endRuns,
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
import { expectedView, mustEqual, queriesOf, readView, settled } from './view.ts'

/*
 * Calls that create, observe, complete, rate, delete, and recreate traces end in the state that the contract defines,
 * no matter how the calls are interleaved and repeated. `model.ts` implements that state independently. The service's
 * clock advances only when a sequence says so, which makes arrival order part of a counterexample.
 */

const THOROUGHNESS = inject('propertyRuns')

/** To reproduce a failure, enter the seed and the path that the failed run printed. */
const REPLAY: { seed?: number; path?: string } = {}

const LIMIT_MS = 50_000 * THOROUGHNESS
/** On a busy machine, interrupting a run takes a while. */
const TIMEOUT_MS = LIMIT_MS + 40_000

/** Checks a property. Shrinking stops before the test times out, so that its result is printed. */
const check = <Values>(runs: number, property: fc.IAsyncProperty<Values>): Promise<void> =>
  fc.assert(property, { numRuns: runs * THOROUGHNESS, interruptAfterTimeLimit: LIMIT_MS, ...REPLAY })

/** Asserts that the service returns the same data as the model. */
async function mustRead(tenant: Tenant, world: World, probed: readonly Probe[], steps: readonly Step[]): Promise<void> {
  const queries = queriesOf(probed, steps)
  const expected = expectedView(world, tenant.ids, queries)
  mustEqual('the view', settled(await readView(tenant.client, tenant.ids, queries), expected), expected)
}

/** Fills in the values that exist only during the run. */
const expandSteps = (steps: readonly Step[], { ids }: Tenant): Step[] =>
  steps.map(({ after, action }) => ({ after, action: expanded(action, ids) }))

const eventsOf = (steps: readonly Step[]): Event[] => steps.map(({ action }) => action).filter(isEvent)

/** How many calls have been sent. With several databases, a new epoch begins at every third call. */
let played = 0

/**
 * Sends calls one by one, each `times` times, asserts that the responses match the model, and returns the resulting
 * world.
 */
async function play(tenant: Tenant, before: World, steps: readonly Step[], times = 1): Promise<World> {
  let world = before
  for (const { after, action } of steps) {
    if (isSharded && ++played % 3 === 0) await appendEpoch(tenant.projectId, played / 3)
    const at = pass(after)
    if (!isCommand(action)) {
      await runJob(tenant, action)
      continue
    }
    for (let time = 0; time < times; time++) {
      const [next, expected] = apply(world, action, { at, place: 0 }, tenant.ids)
      const received = await sendOne(tenant.client, action, tenant.ids)
      mustEqual(`the response to ${JSON.stringify(action)}`, modelResponseOf(received), expected)
      world = next
    }
  }
  return world
}

/** Sends consecutive events in batches of these sizes. Returns the resulting world and each event's result. */
async function playBatches(tenant: Tenant, steps: readonly Step[], sizes: readonly number[]) {
  let world = EMPTY
  const results: Received[] = []
  const send = async (events: readonly Event[]) => {
    if (events.length === 0) return
    const at = pass(1)
    for (const [place, result] of (await sendBatch(tenant.client, events)).entries()) {
      const event = events[place]
      if (!event) throw new Error('a batch has more results than events')
      const [next, expected] = apply(world, event, { at, place }, tenant.ids)
      mustEqual(`result ${place} of ${JSON.stringify(events)}`, modelResponseOf(result), expected)
      results.push(anonymous(result, `events.${place}.body.`))
      world = next
    }
  }
  const batch: Event[] = []
  let sent = 0
  for (const step of steps) {
    if (isEvent(step.action)) batch.push(step.action)
    if (isEvent(step.action) && batch.length < (sizes[sent % sizes.length] ?? 1)) continue
    await send(batch.splice(0))
    sent++
    if (!isEvent(step.action)) world = await play(tenant, world, [step])
  }
  await send(batch)
  return { world, results }
}

/** What the webhooks of all tenants got. */
let received: readonly ReceivedEvent[]
beforeEach(() => {
  received = receive()
})

afterEach(async () => {
  await endRuns()
  vi.useRealTimers()
  vi.restoreAllMocks()
}, 120_000)

describe('calls end in the state that the contract defines', () => {
  it('if sent one by one', { timeout: TIMEOUT_MS }, () =>
    check(
      25,
      fc.asyncProperty(sequence(25, 0), probes, (sent, probed) =>
        withTenant(received, async tenant => {
          const steps = expandSteps(sent, tenant)
          await mustRead(tenant, await play(tenant, EMPTY, steps), probed, steps)
        }),
      ),
    ),
  )

  it('if each is sent twice, and all but deletions once more at the end', { timeout: TIMEOUT_MS }, () =>
    check(
      15,
      fc.asyncProperty(sequence(15, 0), probes, (sent, probed) =>
        withTenant(received, async tenant => {
          const steps = expandSteps(sent, tenant)
          const world = await play(tenant, EMPTY, steps, 2)
          await mustRead(tenant, world, probed, steps)
          const again = steps.filter(({ action }) => isEvent(action))
          await mustRead(tenant, await play(tenant, world, again), probed, steps)
        }),
      ),
    ),
  )

  it('if sent in batches, whose results match the responses to single calls', { timeout: TIMEOUT_MS }, () =>
    check(
      20,
      fc.asyncProperty(sequence(25, 1), sizes, probes, (sent, sizes, probed) =>
        withTenant(received, single =>
          withTenant(received, async batched => {
            const steps = expandSteps(sent, batched)
            const { world, results } = await playBatches(batched, steps, sizes)
            await mustRead(batched, world, probed, steps)
            const responses: Received[] = []
            for (const { after, action } of expandSteps(sent, single)) {
              pass(after)
              if (!isCommand(action)) continue
              const received = await sendOne(single.client, action, single.ids)
              if (isEvent(action)) responses.push(anonymous(received))
            }
            mustEqual('the results of the batches', results, responses)
          }),
        ),
      ),
    ),
  )

  it('if many order-independent calls are sent at the same time, once or twice each', { timeout: TIMEOUT_MS }, () =>
    check(
      15,
      fc.asyncProperty(crowd, ({ first, requests }) =>
        withTenant(received, async tenant => {
          const steps = expandSteps(
            requests.flatMap(({ events }) => events.map(action => ({ after: 0, action }))),
            tenant,
          )
          const begun = await play(tenant, EMPTY, first)
          const at = pass(1)
          const world = eventsOf(steps).reduce(
            (world, event) => apply(world, event, { at, place: 0 }, tenant.ids)[0],
            begun,
          )
          const received = await Promise.all(
            requests.flatMap(({ events, times }) => {
              const own = events.map(event => expanded(event, tenant.ids))
              return Array.from({ length: times }, () => sendBatch(tenant.client, own))
            }),
          )
          const created = received
            .flat()
            .flatMap(({ status, body }) => (status === 201 ? (body.feedback_id ?? []) : []))
          const sentIds = eventsOf(steps).flatMap(({ type, body }) => (type === 'feedback' ? body.feedback_id : []))
          mustEqual('the feedback that was created', created.toSorted(), sentIds.toSorted())
          await mustRead(tenant, world, [{ leaves: [0], name: undefined, status: undefined }], steps)
        }),
      ),
    ),
  )

  it('if sent at the same time: some order explains every response and the final state', { timeout: TIMEOUT_MS }, () =>
    check(
      35,
      fc.asyncProperty(sequence(5, 1), racers, fc.scheduler(), (sent, racing, schedule) =>
        withTenant(received, async tenant => {
          const steps = expandSteps(sent, tenant)
          const before = await play(tenant, EMPTY, steps)
          const runners = racing.map(racer => expanded(racer, tenant.ids))
          const at = pass(1)
          const bindings = wrapBindings(async (binding, call) => {
            await schedule.schedule(Promise.resolve(), binding)
            return call()
          })
          const results = await schedule.waitFor(Promise.all(runners.map(runner => race(tenant, runner, bindings))))
          const raced = runners.flatMap(action => (isCommand(action) ? { after: 0, action } : []))
          const queries = queriesOf([{ leaves: [0], name: undefined, status: undefined }], [...raced, ...steps])
          const view = await readView(tenant.client, tenant.ids, queries)
          await assertExplainable(tenant, before, { racers: runners, results, at, queries, view })
        }),
      ),
    ),
  )
})
