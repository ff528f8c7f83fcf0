import { newUuid } from './ids.ts'
import type { Recorder } from './recorder.ts'

/** The kinds of observations. Only a state has a key. */
export type ObservationKind = { type: 'input' | 'output' } | { type: 'state'; key: string }

/** Records an observation of a trace, or of one of its spans. */
export function recordObservation(
  recorder: Recorder,
  { traceId, spanId }: { traceId: string; spanId?: string },
  kind: ObservationKind,
  value: unknown,
): void {
  const event = { type: 'observation', traceId, id: newUuid() } as const
  const data = recorder.encode(event, 'data', () => value)
  if (!data) return
  const fields = { trace_id: traceId, observation_id: event.id, span_id: spanId, timestamp: new Date().toISOString() }
  recorder.add(event, { ...fields, ...kind }, { data })
}
