import type { TraceItem, TraceList } from '../api/wire.ts'

/** A page of the list. */
export interface TracePage extends TraceList {
  /** If more pages follow, how far back (ISO 8601) a search or a short page looked; otherwise, null. */
  lookedBackTo: string | null
}

/** Whether a trace is above another in the list, which is sorted from newest to oldest and then by ID. */
const isAbove = (trace: TraceItem, other: TraceItem): boolean =>
  trace.createdAt === other.createdAt ? trace.id > other.id : trace.createdAt > other.createdAt

/** New traces on the refetched first page. Leaves out traces below the last loaded trace: a later page adds them. */
export function newTraces(pages: readonly TracePage[], newest: readonly TraceItem[]): TraceItem[] {
  const known = new Set(pages.flatMap(({ traces }) => traces.map(({ id }) => id)))
  const isWhole = pages.at(-1)?.nextCursor === null
  const last = pages.findLast(({ traces }) => traces.length > 0)?.traces.at(-1)
  return newest.filter(trace => !known.has(trace.id) && (isWhole || !last || isAbove(trace, last)))
}

/** Whether there may be more new traces between the added traces and the list. */
export const hasGap = (pages: readonly TracePage[], { traces, nextCursor }: TraceList, added: number): boolean =>
  nextCursor !== null && traces.length > 0 && added === traces.length && pages.some(page => page.traces.length > 0)

/** The list with traces inserted in order. */
export function withTraces(pages: readonly TracePage[], added: readonly TraceItem[]): TracePage[] {
  const changed = pages.map(page => ({ ...page, traces: [...page.traces] }))
  for (const trace of added) {
    const page = changed.find(({ traces }) => traces.some(other => isAbove(trace, other))) ?? changed.at(-1)
    if (!page) continue
    const place = page.traces.findIndex(other => isAbove(trace, other))
    page.traces.splice(place < 0 ? page.traces.length : place, 0, trace)
  }
  return changed
}

/** A response's data about a trace. The response for a single trace has no previews. */
export type TraceChange = Pick<TraceItem, 'id' | 'updatedAt'> & Partial<TraceItem>

/** The list with some traces updated; the same list if nothing changed. */
export function withChanges<Page extends TraceList>(pages: Page[], changes: readonly TraceChange[]): Page[] {
  const byId = new Map(changes.map(trace => [trace.id, trace]))
  const isStale = (trace: TraceItem) => {
    const change = byId.get(trace.id)
    if (!change || change.updatedAt < trace.updatedAt) return false
    return SHOWN.some(field => change[field] !== undefined && change[field] !== trace[field])
  }
  if (!pages.some(({ traces }) => traces.some(isStale))) return pages
  return pages.map(page => ({
    ...page,
    traces: page.traces.map(trace => (isStale(trace) ? { ...trace, ...byId.get(trace.id) } : trace)),
  }))
}

/** The fields that show a change. `updatedAt` alone misses a review in the same millisecond. */
const SHOWN = [
  'updatedAt',
  'status',
  'durationMs',
  'spanCount',
  'reviewedCount',
  'staleCount',
  'feedbackCount',
  'reviewState',
  'inputPreview',
  'outputPreview',
  'errorType',
] as const
