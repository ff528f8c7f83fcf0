import * as v from 'valibot'
import {
  apply,
  type Command,
  detailOf,
  EMPTY,
  type Event,
  type Fields,
  hitsOf,
  isoTime,
  observationsOf,
  type World,
} from '../../properties/model.ts'
import type { EventLedger } from './events.ts'
import { comparable, random, type Subject, type Tenant, Tracked } from './subject.ts'

const PATHS = {
  trace: '/api/v1/traces',
  span: '/api/v1/spans',
  observation: '/api/v1/observations',
  feedback: '/api/v1/feedback',
}

/** A trace with its spans, observations, and feedback. The model predicts its view. */
export class WrittenTrace extends Tracked<World> {
  readonly #traceId = `trace_${random.hex(22)}`
  readonly #timestamp = nextTime()
  readonly #parentId = random.uuid()
  readonly #childId = random.uuid()
  readonly #feedbackIds = [random.uuid(), random.uuid()]
  readonly #tenant: Tenant

  constructor(tenant: Tenant, events: EventLedger) {
    super(
      EMPTY,
      () => readTrace(tenant, this.#traceId),
      world => viewOf(world, tenant, this.#traceId),
      (before, after) => {
        if (before.length > 0 && after.length === 0) events.expect('trace.deleted', tenant.ids.trace(this.#traceId))
      },
    )
    this.#tenant = tenant
  }

  /** Returns the next `count` calls on the trace, which the caller sends together. */
  next(count: number): Command[] {
    const isThere = this.state.length > 0
    const calls: Command[] =
      isThere && count === 1 && random.chance(10)
        ? [{ type: 'delete', trace_id: this.#traceId }]
        : Array.from({ length: count }, (_, index) => (isThere || index > 0 ? this.#event() : this.#traceEvent()))
    this.#begin(calls)
    return calls
  }

  /** Announces calls that are sent together. Any of them may take effect without the others. */
  #begin(calls: readonly Command[]): void {
    const { state } = this
    const arrival = { at: Date.now(), place: 0 }
    const after = (part: Command[]) =>
      part.reduce((world, call) => apply(world, call, arrival, this.#tenant.ids)[0], state)
    this.begin(partsOf(calls).map(after), async () => {
      this.#begin(calls)
      const statuses = await statusesOf(this.#tenant, calls)
      // The first attempt may have deleted the trace.
      mustSucceed(calls[0]?.type === 'delete' ? statuses.filter(status => status !== 404) : statuses)
      this.settle()
    })
  }

  #event(): Event {
    const [span, observation] = [() => this.#span(), () => this.#observation()]
    return random.pick([span, observation, () => this.#traceEvent(), () => this.#feedback()])()
  }

  #traceEvent(): Event {
    const body = { trace_id: this.#traceId, name: 'crash', timestamp: this.#timestamp }
    const metadata = { subject: this.#traceId, [random.pick(['a', 'b'])]: random.hex(8) }
    const running = { status: 'running', metadata: { ...metadata, phase: 'open' } } as const
    const completed = { status: 'completed', metadata: { ...metadata, phase: 'done' }, duration_ms: 7 } as const
    return { type: 'trace', body: { ...body, ...(random.chance(70) ? running : completed) } }
  }

  #span(): Event {
    const parent = { span_id: this.#parentId, prompt_version_id: this.#tenant.ids.promptVersion }
    const child = { span_id: this.#childId, parent_span_id: this.#parentId, status: 'ok' } as const
    const values = random.pick([{ input: aValue() }, { output: aValue() }, { input: aValue(), output: aValue() }])
    return {
      type: 'span',
      body: { ...this.#common(), step_id: 'step', ...random.pick([parent, child]), ...values },
    }
  }

  #observation(): Event {
    const kinds = [{ type: 'input' }, { type: 'output' }, { type: 'state', key: random.pick(['one', 'two']) }] as const
    const named = { observation_id: random.uuid(), ...random.pick([{}, { span_id: this.#childId }]) }
    return { type: 'observation', body: { ...this.#common(), ...named, ...random.pick(kinds), data: aValue() } }
  }

  #feedback(): Event {
    const opinion = random.pick([
      { rating: 0.5 },
      { comment: random.hex(8) },
      { correction: { answer: random.hex(8) } },
    ])
    return { type: 'feedback', body: { ...this.#common(), feedback_id: random.pick(this.#feedbackIds), ...opinion } }
  }

  #common() {
    return { trace_id: this.#traceId, timestamp: nextTime() }
  }
}

async function readTrace({ client, ids }: Tenant, traceId: string): Promise<unknown> {
  const [detail, observations, search] = await Promise.all([
    client.read(`/api/traces/${ids.trace(traceId)}`),
    client.pages(`/api/v1/traces/${traceId}/observations?limit=5`, 'observations', 'next_cursor'),
    client.read(`/api/v1/traces/search?subject=${traceId}`),
  ])
  return comparable({ detail, observations, found: search?.traces })
}

const viewOf = (world: World, { ids }: Tenant, traceId: string): unknown =>
  comparable({
    detail: detailOf(world, traceId, ids) ?? null,
    observations: observationsOf(world, traceId, ids) ?? null,
    found: hitsOf(world, { fields: [{ path: 'subject', value: traceId }] }, ids),
  })

let time = Date.parse('2026-11-20T00:00:00.000Z')

/** A unique time, so that no order depends on when a call arrived. */
const nextTime = (): string => isoTime(time++)

/** A unique value. About half of the values are too large for a row. */
const aValue = (): Fields => ({ id: random.hex(8), text: 'é'.repeat(random.pick([0, 100, 5000, 20_000])) })

/** All subsequences of a list. The empty one comes first, and the whole list comes last. */
const partsOf = <Item>(items: readonly Item[]): Item[][] =>
  items.reduce<Item[][]>((parts, item) => parts.concat(parts.map(part => part.concat([item]))), [[]])

/**
 * Creates a function that writes traces, and returns the number of acknowledged calls. It sends single calls, and
 * batches for several traces.
 */
export function traceWriter(tenant: Tenant, ledger: Subject[], events: EventLedger): () => Promise<number> {
  const begin = () => {
    const trace = new WrittenTrace(tenant, events)
    ledger.push(trace)
    return trace
  }
  let traces = [begin(), begin(), begin()]
  return async () => {
    const isBatch = random.chance(30)
    const written = isBatch ? traces : [random.pick(traces)]
    const calls = written.flatMap(trace => trace.next(isBatch ? random.whole(2, 4) : 1))
    mustSucceed(await statusesOf(tenant, calls))
    for (const trace of written) trace.settle()
    traces = traces.map(trace => (random.chance(15) ? begin() : trace))
    return calls.length
  }
}

/** Sends calls, as a batch if there are several, and returns their statuses. */
async function statusesOf({ client, ids }: Tenant, calls: readonly Command[]): Promise<number[]> {
  const [first, ...others] = calls
  if (!first) return []
  if (others.length > 0) {
    const { results } = v.parse(Results, await client.make('POST', '/api/v1/batch', { events: calls }))
    return results.map(({ status }) => status)
  }
  const { status } =
    first.type === 'delete'
      ? await client.call('DELETE', `/api/traces/${ids.trace(first.trace_id)}`)
      : await client.call('POST', PATHS[first.type], first.body)
  return [status]
}

const Results = v.object({ results: v.array(v.object({ status: v.number() })) })

function mustSucceed(statuses: readonly number[]): void {
  if (statuses.some(status => status >= 300)) throw new Error(`a call was rejected: ${statuses}`)
}
