import type { InferInput } from 'valibot'
import type { Feedback } from '../ingest/feedback.ts'
import type { Observation } from '../ingest/observations.ts'
import type { Span } from '../ingest/spans.ts'
import type { Trace } from '../ingest/traces.ts'
import { describe } from './errors.ts'
import { type Encoded, encode } from './json.ts'
import { MAX_CORRECTION_BYTES, MAX_ENVELOPE_BYTES, MAX_METADATA_BYTES, MAX_VALUE_BYTES } from './limits.ts'
import type { EventName, EventType } from './loss.ts'
import type { Losses } from './losses.ts'
import type { Queue } from './queue.ts'

/** The fields that hold the pipeline's values, and how many bytes of JSON each may have. */
const VALUE_BYTES = {
  input: MAX_VALUE_BYTES,
  output: MAX_VALUE_BYTES,
  data: MAX_VALUE_BYTES,
  metadata: MAX_METADATA_BYTES,
  correction: MAX_CORRECTION_BYTES,
}

type ValueField = keyof typeof VALUE_BYTES

type WithoutValues<Body> = Body extends unknown ? Omit<Body, ValueField> : never

/** The rest of each event's body. */
interface Bodies {
  trace: WithoutValues<InferInput<typeof Trace>>
  span: WithoutValues<InferInput<typeof Span>>
  observation: WithoutValues<InferInput<typeof Observation>>
  feedback: WithoutValues<InferInput<typeof Feedback>>
}

/** The values of an event, as JSON. */
export type Values = Partial<Record<ValueField, Encoded | undefined>>

/** Queues what the pipeline records. Nothing here throws: anything that can't be sent is a loss. */
export class Recorder {
  readonly #queue: Pick<Queue, 'add'>
  readonly #losses: Losses

  constructor(queue: Pick<Queue, 'add'>, losses: Losses) {
    this.#queue = queue
    this.#losses = losses
  }

  /** A value's current JSON. Undefined if it can't be sent: only the value is lost, not the rest of its event. */
  encode(event: EventName, field: ValueField, read: () => unknown): Encoded | undefined {
    const encoded = encode(read, VALUE_BYTES[field])
    if ('json' in encoded) return encoded
    this.#losses.add({ ...event, ...encoded, field })
    return undefined
  }

  /** A time in the wire format. An invalid one is reported as a loss, and replaced by the current time. */
  time(event: EventName, time: Date | string | undefined): string {
    try {
      if (time !== undefined) return new Date(time).toISOString()
    } catch (error) {
      this.#losses.add({ ...event, reason: 'not_serializable', field: 'timestamp', message: describe(error).message })
    }
    return new Date().toISOString()
  }

  /** Queues an event. */
  add<Type extends EventType>(event: EventName & { type: Type }, body: Bodies[Type], values: Values = {}): void {
    const envelope = encode(() => body, MAX_ENVELOPE_BYTES)
    if ('reason' in envelope) {
      this.#losses.add({ ...event, ...envelope })
      return
    }
    const fields = [envelope.json.slice(1, -1)]
    let { bytes } = envelope
    for (const [field, value] of Object.entries(values)) {
      if (!value) continue
      fields.push(`"${field}":${value.json}`)
      bytes += value.bytes
    }
    const json = `{"type":"${event.type}","body":{${fields.join()}}}`
    this.#queue.add(event, json, bytes)
  }
}
