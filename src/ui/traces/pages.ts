import type { TraceItem, TraceList } from '../api/wire.ts'

/** A page of the list. */
export interface TracePage extends TraceList {
  /** How far back (ISO 8601) a page looked that is short although more follows; null of every other. */
  lookedBackTo: string | null
}

/** Whether a trace stands above another: newest first, then by id. */
const isAbove = (trace: TraceItem, other: TraceItem): boolean =>
  trace.createdAt === other.createdAt ? trace.id > other.id : trace.createdAt > other.createdAt

/** What the first page, read anew, has that the list has not. Traces below the last one loaded come with their own page. */
export function newTraces(pages: readonly TracePage[], newest: readonly TraceItem[]): TraceItem[] {
  const known = new Set(pages.flatMap(({ traces }) => traces.map(({ id }) => id)))
  const isWhole = pages.at(-1)?.nextCursor === null
  const last = pages.findLast(({ traces }) => traces.length > 0)?.traces.at(-1)
  return newest.filter(trace => !known.has(trace.id) && (isWhole || !last || isAbove(trace, last)))
}

/** Whether so many came that there may be others between them and the list. */
export const hasGap = (pages: readonly TracePage[], { traces, nextCursor }: TraceList, added: number): boolean =>
  nextCursor !== null && traces.length > 0 && added === traces.length && pages.some(page => page.traces.length > 0)

/** The list with traces put where they belong. */
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

/** The list with what it knows of some traces brought up to date; the same list where nothing has changed. */
export function withChanges<Page extends TraceList>(pages: Page[], changes: readonly TraceItem[]): Page[] {
  const byId = new Map(changes.map(trace => [trace.id, trace]))
  const isStale = (trace: TraceItem) => {
    const change = byId.get(trace.id)
    if (!change || change.updatedAt < trace.updatedAt) return false
    return SHOWN.some(field => change[field] !== trace[field])
  }
  if (!pages.some(({ traces }) => traces.some(isStale))) return pages
  return pages.map(page => ({
    ...page,
    traces: page.traces.map(trace => (isStale(trace) ? (byId.get(trace.id) ?? trace) : trace)),
  }))
}

/** What tells that a trace has changed: `updatedAt` moves with it, except for a review that lies in the same millisecond. */
const SHOWN = [
  'updatedAt',
  'status',
  'durationMs',
  'spanCount',
  'reviewedCount',
  'staleCount',
  'feedbackCount',
  'reviewState',
] as const
