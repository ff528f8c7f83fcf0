import type { PayloadMode } from '../../domain/span.ts'
import { MAX_PAGE_VALUE_BYTES, MAX_SPAN_BYTES } from '../../limits.ts'
import { readPlain } from '../core/database.ts'
import type { Store } from '../core/store.ts'
import { readUntilWhole } from '../traces/payloads.ts'
import { type FoldedSpan, foldSpans } from './fold-spans.ts'
import {
  isLocatedRoot,
  type LocatedRows,
  type LocatedTrace,
  locatedSpans,
  spanQueries,
  toLocatedRows,
} from './located-rows.ts'
import { chooseShared, readShared, sharingSpans } from './shared-review.ts'
import { isAnyCut, type SpanDetail, showSpans, sizeOf } from './span-detail.ts'

/* Looks up spans by id alone, for the read interface. */

/** A span with its trace. */
export interface LocatedSpan extends SpanDetail {
  trace: { id: string; traceId: string; name: string }
  projectKey: number
}

/**
 * Finds a span of a live trace, with as much of its values as fits in a response. Takes one round trip, or more if the
 * span is a root that shows another span's correction, suggestions, or votes, and R2 reads for large values.
 */
export const findSpan = (store: Store, id: string): Promise<LocatedSpan | undefined> =>
  readUntilWhole(store, async () => {
    const [sharing, ...rows] = await readPlain(store.database, [
      sharingSpans(store, isLocatedRoot(locatedSpans(store, [id]))),
      ...spanQueries(store, [id], MAX_SPAN_BYTES),
    ])
    const { traces, found } = await showPage(store, toLocatedRows(rows), [id], 'full')
    const span = found !== 'too_many' && found?.found.get(id)
    if (!span) return found ? undefined : { traces, found }
    const show = await readShared(store, id, chooseShared(store, sharing).get(id), 'full')
    return { traces, found: show && { ...span, ...show(span) } }
  })

/** The spans of a page. */
interface SpansOfPage {
  /** Keyed by id. Deleted spans are missing. */
  found: Map<string, LocatedSpan>
  /** How many of the ids were read. The values of further spans wouldn't fit on the page. */
  count: number
}

/**
 * Finds spans of live traces by id: at least one, and as many as fit on a page or in `maxBytes`. Takes one round trip,
 * and R2 reads for large values. If the values stored in rows don't fit, tries again with half as many ids.
 */
export async function findSpans(
  store: Store,
  ids: readonly string[],
  mode: PayloadMode,
  maxBytes: number = MAX_PAGE_VALUE_BYTES,
): Promise<SpansOfPage> {
  if (ids.length === 0) return { found: new Map(), count: 0 }
  const limit = ids.length === 1 ? MAX_SPAN_BYTES : maxBytes
  const page = await readUntilWhole<SpansOfPage | 'too_many'>(store, () => readPage(store, ids, mode, limit))
  if (page === 'too_many') return findSpans(store, ids.slice(0, Math.floor(ids.length / 2)), mode, maxBytes)
  return page ?? { found: new Map(), count: ids.length }
}

async function readPage(store: Store, ids: readonly string[], mode: PayloadMode, maxBytes: number) {
  const rows = await readPlain(store.database, spanQueries(store, ids, maxBytes))
  return showPage(store, toLocatedRows(rows), ids, mode, maxBytes)
}

async function showPage(
  store: Store,
  rows: LocatedRows,
  ids: readonly string[],
  mode: PayloadMode,
  maxBytes: number = MAX_SPAN_BYTES,
) {
  const foldedOf = new Map(foldSpans(rows).map(span => [span.row.id, span]))
  const fitting: FoldedSpan[] = []
  let [count, bytes] = [0, 0]
  for (const id of ids) {
    const span = foldedOf.get(id)
    bytes += span ? sizeOf(span, mode) : 0
    if (ids.length > 1 && span && isAnyCut(span)) {
      if (fitting.length === 0) return { traces: rows.traces, found: 'too_many' as const }
      break
    }
    if (bytes > maxBytes && fitting.length > 0) break
    if (span) fitting.push(span)
    count++
  }
  const shown = await showSpans(store, fitting, mode)
  const traceOf = new Map(rows.traces.map(trace => [trace.key, trace]))
  const located = shown?.flatMap((detail, index) => {
    const trace = traceOf.get(fitting[index]?.row.traceKey ?? 0)
    return trace ? [[detail.id, withTrace(detail, trace)] as const] : []
  })
  return { traces: rows.traces, found: located && { found: new Map(located), count } }
}

/** Adds to a span the trace that it belongs to. */
export const withTrace = (detail: SpanDetail, { id, traceId, name, projectKey }: LocatedTrace): LocatedSpan => ({
  ...detail,
  trace: { id, traceId, name },
  projectKey,
})
