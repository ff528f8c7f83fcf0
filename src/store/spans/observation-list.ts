import { and, asc, eq, getTableColumns, sql } from 'drizzle-orm'
import type { ObservationType } from '../../domain/fold.ts'
import { JsonText } from '../../domain/json.ts'
import type { Store } from '../core/store.ts'
import { observations } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { isLive, liveTraceKey } from '../traces/live.ts'
import { countFitting, readUntilWhole, showValues } from '../traces/payloads.ts'
import { joinedSpanId } from '../traces/span-ids.ts'

/** An observation as a client sent it. */
interface ListedObservation {
  id: string
  /** The span that the observation names or, if that span doesn't exist, the root. */
  spanId: string
  type: ObservationType
  stateKey: string | null
  data: JsonText
  timestamp: number
  receivedAt: number
}

/** A position in the order in which observations are folded. */
type ObservationPlace = Pick<ListedObservation, 'timestamp' | 'receivedAt' | 'id'>

/**
 * A page of a live trace's observations, in the order in which they're folded, each in full regardless of its size. The
 * page ends before the observation that would make it exceed 8 MiB. Undefined if there is no such trace.
 */
export const listObservations = (store: Store, traceUuid: string, page: ObservationPage) =>
  readUntilWhole(store, () => readPage(store, traceUuid, page))

interface ObservationPage {
  limit: number
  after: ObservationPlace | undefined
}

async function readPage(store: Store, traceUuid: string, { limit, after }: ObservationPage) {
  const { timestamp, receivedAt, id } = observations
  const [[trace], rows] = await store.database.batch([
    store.database
      .select({ id: traces.id, key: traces.key, rootSpanId: traces.rootSpanId })
      .from(traces)
      .where(isLive(store, eq(traces.id, traceUuid))),
    store.database
      .select({ ...getTableColumns(observations), spanId: joinedSpanId('observations').as('joined_span_id') })
      .from(observations)
      .where(
        and(
          eq(observations.traceKey, sql`(${liveTraceKey(store, traceUuid)})`),
          after && sql`(${timestamp}, ${receivedAt}, ${id}) > (${after.timestamp}, ${after.receivedAt}, ${after.id})`,
        ),
      )
      .orderBy(asc(timestamp), asc(receivedAt), asc(id))
      .limit(limit + 1),
  ])
  if (!trace) return undefined
  const values = rows.map(({ data, dataRef }) => ({ text: data, ref: dataRef, folder: trace.key }))
  const count = Math.min(limit, countFitting(values))
  const shown = await showValues(store, values.slice(0, count), 'full')
  if (!shown) return { traces: [trace], found: undefined }
  const items = rows.slice(0, count).map(({ spanId, ...row }, index): ListedObservation => {
    const value = values[index]
    const data = new JsonText((value && shown.get(value)?.text) ?? 'null')
    return { ...row, spanId: spanId ?? trace.rootSpanId, data }
  })
  const nextPlace: ObservationPlace | null = (rows.length > count && items.at(-1)) || null
  return { traces: [trace], found: { items, nextPlace } }
}
