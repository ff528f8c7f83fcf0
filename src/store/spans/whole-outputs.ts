import { sql } from 'drizzle-orm'
import { rowSet } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { observations } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { isLive } from '../traces/live.ts'
import { fetchValues } from '../traces/payloads.ts'
import type { FoldedSpan } from './fold-spans.ts'

/**
 * Fetches the JSON of spans' outputs, however large, or 'null' for a span that has none. Leaves out spans whose R2
 * object is gone.
 */
export async function fetchOutputs(
  store: Store,
  spans: readonly FoldedSpan[],
): Promise<ReadonlyMap<FoldedSpan, string>> {
  const outputs = spans.flatMap(({ output }) => (output ? [output] : []))
  const cut = spans.filter(({ output }) => output?.isCut && output.ref === null)
  const [fetched, uncut] = await Promise.all([
    fetchValues(
      store,
      outputs.filter(({ ref }) => ref !== null),
    ),
    cut.length === 0 ? new Map<string, string>() : readObservations(store, cut),
  ])
  return new Map(
    spans.flatMap(span => {
      const { output } = span
      const text = output?.isCut ? uncut.get(observationOf(span)) : output?.text
      const whole = output && output.ref !== null ? fetched.get(output) : (text ?? 'null')
      return whole === undefined ? [] : [[span, whole] as const]
    }),
  )
}

/** The key of an output's observation. The id alone isn't unique across traces. */
const observationOf = ({ row, outputRevision }: FoldedSpan): string => `${row.traceKey}/${outputRevision}`

const OBSERVATIONS = rowSet(['traceKey', 'id'])

/** Reads the outputs that were cut when their spans were read. The result is keyed by `observationOf`. */
async function readObservations(store: Store, cut: readonly FoldedSpan[]): Promise<Map<string, string>> {
  const { row } = OBSERVATIONS
  const ids = OBSERVATIONS.encodeAll(
    cut.map(({ row, outputRevision }) => ({ traceKey: row.traceKey, id: outputRevision })),
  )
  const rows = await store.database
    .select({ traceKey: observations.traceKey, id: observations.id, data: observations.data })
    .from(observations)
    .where(
      sql`(${observations.traceKey}, ${observations.id}) in (
        select ${row.traceKey}, ${row.id} from ${OBSERVATIONS.from(ids)} cross join ${traces}
        where ${isLive(store, sql`${traces.key} = ${row.traceKey}`)})`,
    )
  return new Map(rows.map(({ traceKey, id, data }) => [`${traceKey}/${id}`, data]))
}
