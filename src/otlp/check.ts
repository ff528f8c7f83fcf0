import type { Work } from '../domain/turns.ts'
import { badRequest } from '../http/errors.ts'
import { MAX_EXPORT_RECORDS, RECORDS_A_TURN } from '../limits.ts'
import { type Decoded, type TelemetryLog, type TelemetrySpan, weightOf } from './reading/telemetry.ts'

/**
 * The records of an export in their order, each read when it is asked for: past the limit they are only counted. Undefined:
 * the end of a resource's or a scope's, which may have none.
 */
export type Unread<RecordType> = Iterable<(() => RecordType) | undefined>

/** A span as an encoding holds it: ids of any length, '' for none; an end that may lie before the start, 0 for none. */
export type UncheckedSpan = Omit<TelemetrySpan, 'parentSpanId'> & { parentSpanId: string }

/** A log record likewise. */
export type UncheckedLog = Omit<TelemetryLog, 'traceId' | 'spanId'> & { traceId: string; spanId: string }

/** Why a record is refused. */
const REJECTIONS = {
  traceId: 'the trace id is not 16 bytes, or all zero',
  spanId: 'the span id is not 8 bytes, or all zero',
  parentSpanId: 'the parent span id is not 8 bytes',
  tooMany: `a request may hold ${MAX_EXPORT_RECORDS} records`,
} as const
type Rejection = (typeof REJECTIONS)[keyof typeof REJECTIONS]

const isTraceId = (id: string): boolean => /^[0-9a-f]{32}$/.test(id) && !isNone(id)
const isSpanId = (id: string): boolean => /^[0-9a-f]{16}$/.test(id) && !isNone(id)
/** Whether an id says that there is none. */
const isNone = (id: string): boolean => /^0*$/.test(id)

/**
 * The spans that can be taken, each with an end that is not before its start; the others are counted by why not.
 * Errors: 400 where not one of the spans has an id, as when log records, whose fields have the same numbers, came here.
 */
export function* checkSpans(spans: Unread<UncheckedSpan>): Work<Decoded<TelemetrySpan>> {
  let hasIds: boolean | undefined
  const decoded = yield* check(spans, span => {
    hasIds ||= span.traceId !== '' || span.spanId !== ''
    return checkSpan(span)
  })
  if (hasIds === false) throw badRequest('No span has a trace id or a span id; this path takes traces only')
  return decoded
}

function checkSpan(span: UncheckedSpan): TelemetrySpan | Rejection {
  if (!isTraceId(span.traceId)) return REJECTIONS.traceId
  if (!isSpanId(span.spanId)) return REJECTIONS.spanId
  const isRoot = isNone(span.parentSpanId)
  if (!isRoot && !isSpanId(span.parentSpanId)) return REJECTIONS.parentSpanId
  return {
    ...span,
    parentSpanId: isRoot ? null : span.parentSpanId,
    // biome-ignore lint/complexity/useMathMinMax: it takes no bigint.
    endNs: span.endNs < span.startNs ? span.startNs : span.endNs,
  }
}

/** The log records that can be taken; the others are counted by why not. */
export const checkLogs = (logs: Unread<UncheckedLog>): Work<Decoded<TelemetryLog>> => check(logs, checkLog)

function checkLog(log: UncheckedLog): TelemetryLog | Rejection {
  const isInTrace = !isNone(log.traceId)
  const isInSpan = !isNone(log.spanId)
  if (isInTrace && !isTraceId(log.traceId)) return REJECTIONS.traceId
  if (isInSpan && !isSpanId(log.spanId)) return REJECTIONS.spanId
  return { ...log, traceId: isInTrace ? log.traceId : null, spanId: isInSpan ? log.spanId : null }
}

function* check<Unchecked, RecordType extends TelemetrySpan | TelemetryLog>(
  found: Unread<Unchecked>,
  checkOne: (record: Unchecked) => RecordType | Rejection,
): Work<Decoded<RecordType>> {
  const records: RecordType[] = []
  const rejected = new Map<string, number>()
  let seen = 0
  yield* paced(found, read => {
    const checked = ++seen > MAX_EXPORT_RECORDS ? REJECTIONS.tooMany : checkOne(read())
    if (typeof checked === 'object') {
      records.push(checked)
      return weightOf(checked)
    }
    rejected.set(checked, (rejected.get(checked) ?? 0) + 1)
    return 1
  })
  return { records, rejected }
}

/** Takes each record, and pauses once those since the last pause weigh as much as a turn may. `take` returns the weight. */
export function* paced<RecordType>(found: Unread<RecordType>, take: (read: () => RecordType) => number): Work<void> {
  let weight = 0
  for (const read of found) {
    weight += read ? take(read) : 1 / EMPTY_PARTS_A_RECORD
    if (weight < RECORDS_A_TURN) continue
    weight = 0
    yield
  }
}

/** So many resources and scopes without a record are as much work as one. */
const EMPTY_PARTS_A_RECORD = 50
