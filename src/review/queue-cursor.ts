import type { QueuePlace } from '../store/reviews/queue-order.ts'

/** A place in the queue, as a cursor stores it. */
export const QUEUE_PLACE = [
  'number',
  'number',
  'number',
  'string',
  'number',
  'string',
  'number',
  'string',
  'number',
  'number',
  'string',
] as const

export const fromQueuePlace = ({
  stretch: { key, start, from, until },
  at,
  traceUuid,
  rank,
  timestamp,
  spanId,
}: QueuePlace) =>
  [key, start, from.timestamp, from.id, until.timestamp, until.id, at, traceUuid, rank, timestamp, spanId] as const

export const toQueuePlace = (values: ReturnType<typeof fromQueuePlace>): QueuePlace => {
  const [key, start, fromTime, fromId, untilTime, untilId, at, traceUuid, rank, timestamp, spanId] = values
  const stretch = {
    key,
    start,
    from: { timestamp: fromTime, id: fromId },
    until: { timestamp: untilTime, id: untilId },
  }
  return { stretch, at, traceUuid, rank, timestamp, spanId }
}
