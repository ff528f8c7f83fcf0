import type { Json, JsonObject } from '../domain/json.ts'
import type { SentType } from '../domain/webhook.ts'
import { isoTime } from '../http/atoms.ts'
import type { Delivery } from '../store/webhooks/deliveries.ts'

/** An event as receivers get it: the envelope of Standard Webhooks. */
export interface Envelope {
  type: SentType
  timestamp: string
  data: JsonObject & { sequence: number; at: string; projectId: string | null; projectSlug: string | null }
}

/** What a payload is built from. */
export type SentEvent = Pick<Delivery, 'sequence' | 'type' | 'at' | 'project' | 'actorId' | 'data' | 'trace'>

/** An event's payload, with `details` that were read for it. */
export function envelopeOf(
  { sequence, type, at, project, actorId, data, trace }: SentEvent,
  details: JsonObject = {},
): Envelope {
  const time = isoTime(at)
  const own: Record<string, Json> = JSON.parse(data)
  return {
    type,
    timestamp: time,
    data: {
      sequence,
      at: time,
      projectId: project?.id ?? null,
      projectSlug: project?.slug ?? null,
      ...(trace && { trace: { id: trace.id, traceId: trace.traceId } }),
      ...own,
      ...details,
      by: actorId,
    },
  }
}
