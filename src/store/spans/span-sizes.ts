import { isNotNull, type SQL, sql } from 'drizzle-orm'
import { MAX_SPAN_BYTES } from '../../limits.ts'
import { rowSet } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { reviews } from '../schema/reviews.ts'
import { observations, spans } from '../schema/spans.ts'
import { isLastDecision } from './span-fields.ts'

/** The cost of reading a span in full. */
export interface SpanSize {
  /** The size of its values in its rows, in bytes. */
  bytes: number
  /** The number of its values in R2. */
  objects: number
}

/** A span's keys, and the id of its trace's root. */
export interface SpanKeys {
  traceKey: number
  spanId: string
  rootSpanId: string
}

/** The estimated size of a span without its values, in bytes. */
const SPAN_BYTES = 1000

const SPANS = rowSet(['traceKey', 'spanId'])
const TRACES = rowSet(['key', 'rootSpanId'])
/** The values in a span's `state`. */
const STATE = rowSet(['key', 'text', 'ref'])

const length = (column: SQL) => sql`coalesce(octet_length(${column}), 0)`

/** The length of a value in R2, which its reference gives after the second colon. */
const lengthIn = (ref: SQL) => sql`coalesce(cast(substr(
  ${ref}, instr(${ref}, ':') + 1 + instr(substr(${ref}, instr(${ref}, ':') + 1), ':')) as integer), 0)`

/**
 * Measures spans in one query, without reading their values. Returns the sizes in the order of `keys`. Sizes include
 * replaced outputs and states, so they may be too large.
 */
export async function measureSpans({ database }: Store, keys: readonly SpanKeys[]): Promise<SpanSize[]> {
  if (keys.length === 0) return []
  const given = SPANS.from(SPANS.encodeAll(keys.map(({ traceKey, spanId }) => ({ traceKey, spanId }))))
  const isGiven = sql`${spans.id} = ${SPANS.row.spanId} and ${spans.traceKey} = ${SPANS.row.traceKey}`
  const roots = new Map(keys.map(({ traceKey, rootSpanId }) => [traceKey, rootSpanId]))
  const traces = TRACES.from(TRACES.encodeAll([...roots].map(([key, rootSpanId]) => ({ key, rootSpanId }))))
  const { input, inputRef, output, outputRef, state, metadata } = spans
  const ofState = (value: SQL) => sql`coalesce((select ${value} from ${STATE.from(sql`${state}`, 'listed')}), 0)`
  const { ref } = STATE.rowOf('listed')
  const rows = await database.all<MeasuredRow>(sql`
    select ${spans.traceKey} as traceKey, ${spans.id} as spanId,
      ${length(sql`${input}`)} + ${length(sql`${output}`)} + ${length(sql`${state}`)} + ${length(sql`${metadata}`)} as bytes,
      ${lengthIn(sql`${inputRef}`)} + ${lengthIn(sql`${outputRef}`)} + ${ofState(sql`sum(${lengthIn(ref)})`)} as largeBytes,
      (${isNotNull(inputRef)}) + (${isNotNull(outputRef)}) + ${ofState(sql`count(${ref})`)} as objects
    from ${given} cross join ${spans} where ${isGiven}
    union all
    select ${reviews.traceKey}, ${reviews.spanId},
      ${length(sql`${reviews.approved}`)} + ${length(sql`${reviews.comment}`)},
      ${lengthIn(sql`${reviews.approvedRef}`)}, ${isNotNull(reviews.approvedRef)}
    from ${given} cross join ${spans} cross join ${reviews}
    where ${isGiven} and ${isNotNull(spans.reviewState)} and ${isLastDecision}
    union all
    select ${observations.traceKey}, coalesce(${observations.spanId}, ${TRACES.row.rootSpanId}) as spanId,
      sum(${length(sql`${observations.data}`)}), sum(${lengthIn(sql`${observations.dataRef}`)}),
      count(${observations.dataRef})
    from ${traces} cross join ${observations} where ${observations.traceKey} = ${TRACES.row.key}
    group by ${observations.traceKey}, coalesce(${observations.spanId}, ${TRACES.row.rootSpanId})`)
  const measured = Map.groupBy(rows, ({ traceKey, spanId }) => `${traceKey}/${spanId}`)
  return keys.map(({ traceKey, spanId }) => sizeOf(measured.get(`${traceKey}/${spanId}`) ?? []))
}

interface MeasuredRow extends SpanSize {
  traceKey: number
  spanId: string
  largeBytes: number
}

function sizeOf(rows: readonly MeasuredRow[]): SpanSize {
  const sum = (field: 'bytes' | 'largeBytes' | 'objects') => rows.reduce((sum, row) => sum + row[field], 0)
  // Past MAX_SPAN_BYTES, values become previews.
  return { bytes: SPAN_BYTES + sum('bytes') + Math.min(sum('largeBytes'), MAX_SPAN_BYTES), objects: sum('objects') }
}
