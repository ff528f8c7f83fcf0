import type { Work } from '../domain/turns.ts'
import { badRequest } from '../http/errors.ts'
import { MAX_EXPORT_RECORDS, RECORDS_PER_TURN } from '../limits.ts'
import { type Decoded, type TelemetryLog, type TelemetrySpan, weightOf } from './reading/telemetry.ts'

/**
 * The records of an export in order, each decoded on demand. Records past the limit are only counted. An undefined item
 * marks the end of a resource or scope, which may have no records.
 */
export type Unread<RecordType> = Iterable<(() => RecordType) | undefined>

/** A span as encoded. Its ids may have any length; '' means none. Its end may be 0 or before its start. */
export type UncheckedSpan = Omit<TelemetrySpan, 'parentSpanId'> & { parentSpanId: string }

/** A log record as encoded, with ids like those of `UncheckedSpan`. */
export type UncheckedLog = Omit<TelemetryLog, 'traceId' | 'spanId'> & { traceId: string; spanId: string }

/** Why a record is rejected. */
const REJECTIONS = {
  traceId: 'the trace id is not 16 bytes or is all zeros',
  spanId: 'the span id is not 8 bytes or is all zeros',
  parentSpanId: 'the parent span id is not 8 bytes',
  tooMany: `a request may contain at most ${MAX_EXPORT_RECORDS} records`,
} as const
type Rejection = (typeof REJECTIONS)[keyof typeof REJECTIONS]

const isTraceId = (id: string): boolean => /^[0-9a-f]{32}$/.test(id) && !isNone(id)
const isSpanId = (id: string): boolean => /^[0-9a-f]{16}$/.test(id) && !isNone(id)
/** Whether an id is empty or all zeros, which means "none". */
const isNone = (id: string): boolean => /^0*$/.test(id)

/**
 * Yields the valid spans, each with an end that isn't before its start, and counts the invalid ones by reason. Errors:
 * 400 if no span has an id. That happens if the export actually contains log records, because their fields have the
 * same numbers as those of spans.
 */
export function* checkSpans(spans: Unread<UncheckedSpan>): Work<Decoded<TelemetrySpan>> {
  let hasIds: boolean | undefined
  const decoded = yield* check(spans, span => {
    hasIds ||= span.traceId !== '' || span.spanId !== ''
    return checkSpan(span)
  })
  if (hasIds === false) throw badRequest('No span has a trace id or a span id; this path accepts only traces')
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
    // biome-ignore lint/complexity/useMathMinMax: Math.max doesn't accept bigints.
    endNs: span.endNs < span.startNs ? span.startNs : span.endNs,
  }
}

/** Yields the valid log records and counts the invalid ones by reason. */
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

/**
 * Passes each record to `take`, which returns the record's weight. Yields whenever the weights add up to a turn's work.
 */
export function* paced<RecordType>(found: Unread<RecordType>, take: (read: () => RecordType) => number): Work<void> {
  let weight = 0
  for (const read of found) {
    weight += read ? take(read) : 1 / EMPTY_PARTS_PER_RECORD
    if (weight < RECORDS_PER_TURN) continue
    weight = 0
    yield
  }
}

/** How many resources or scopes without records take as much work as one record. */
const EMPTY_PARTS_PER_RECORD = 50
