import { call, Fault } from '../api/client.ts'
import { onFault, queryClient } from '../api/query-client.ts'
import type { SpanOfTrace } from '../api/wire.ts'
import type { Desk } from './desk.ts'
import { spanQuery } from './queries.ts'
import {
  type Decided,
  type Decision,
  type Trouble,
  withDecision,
  withoutDecision,
  withoutTrouble,
  withResetting,
  withSaved,
  withTrouble,
} from './sitting.ts'

/** Called for each decision that fails. */
type OnTrouble = (span: SpanOfTrace, trouble: Trouble) => void

/** The pending call for each span. The next call waits for it and uses the etag from its response. */
const pendingCalls = new Map<string, Promise<SpanOfTrace>>()

/**
 * Sends a decision on a span as the reviewer saw it. The reviewer moves on; the draft stays until the decision is
 * saved. Returns the span as it is afterward, if the decision was saved and is still current.
 */
export async function decide(
  desk: Desk,
  seen: SpanOfTrace,
  request: Decision,
  onTrouble: OnTrouble,
): Promise<SpanOfTrace | undefined> {
  const { id } = seen
  const { drafts, sitting, claims } = desk
  const decided: Decided = { request, seen, draft: drafts.get(id), isSaved: false }
  drafts.flush()
  claims.forget(id)
  sitting.change(before => withDecision(before, id, decided, Date.now()))
  try {
    const after = await send(seen, request)
    const isLast = sitting.get().decided.get(id) === decided
    if (!isLast) return undefined
    queryClient.setQueryData(spanQuery(id).queryKey, after)
    sitting.change(before => withSaved(before, id, decided))
    if (drafts.get(id) === decided.draft) drafts.remove(id)
    return after
  } catch (error) {
    if (sitting.get().decided.get(id) !== decided) return undefined
    sitting.change(before => withoutDecision(before, id))
    await reportTrouble(desk, { request, seen, fault: faultOf(error) }, onTrouble)
    return undefined
  }
}

/** Undoes a decision from this sitting and restores the span and its draft. */
export async function undo(desk: Desk, spanId: string, onTrouble: OnTrouble): Promise<void> {
  const { drafts, sitting } = desk
  const decided = sitting.get().decided.get(spanId)
  if (!decided) return
  const { seen, draft } = decided
  const { queryKey } = spanQuery(spanId)
  const saved = pendingCalls.get(spanId) ?? Promise.resolve(queryClient.getQueryData(queryKey) ?? seen)
  // Queued before anything is awaited, so that a new decision on the reopened item is sent after it.
  const reopened = queue(
    spanId,
    saved.then(latest => put(latest, { decision: 'reset' })),
  )
  sitting.change(before => withResetting(withoutDecision(before, spanId), spanId, true))
  if (draft) drafts.put(spanId, draft)
  queryClient.setQueryData(queryKey, seen)
  try {
    const open = await reopened
    if (!sitting.get().decided.has(spanId)) queryClient.setQueryData(queryKey, open)
    // The draft now applies to the reopened span.
    const written = drafts.get(spanId)
    if (written) drafts.put(spanId, { ...written, etag: open.etag })
  } catch (error) {
    // There is nothing to undo if the decision failed.
    const decidedSpan = await saved.catch(() => undefined)
    if (decidedSpan)
      await reportTrouble(desk, { request: 'reset', seen: decidedSpan, fault: faultOf(error) }, onTrouble)
  } finally {
    sitting.change(before => withResetting(before, spanId, false))
  }
}

/** Continues with a span as it is now and keeps the draft. */
export const dismissTrouble = ({ sitting }: Desk, spanId: string): void =>
  sitting.change(before => withoutTrouble(before, spanId))

async function reportTrouble({ sitting }: Desk, trouble: Trouble, onTrouble: OnTrouble): Promise<void> {
  const { seen, fault } = trouble
  // The current span, to compare with what the reviewer saw.
  if (fault.status === 412) await queryClient.fetchQuery({ ...spanQuery(seen.id), staleTime: 0 }).catch(() => undefined)
  sitting.change(before => withTrouble(before, seen.id, trouble))
  onFault(fault)
  onTrouble(seen, trouble)
}

/** Sends a decision after the pending call for its span, with the etag from that call's response. */
function send(seen: SpanOfTrace, request: Decision): Promise<SpanOfTrace> {
  const before = pendingCalls.get(seen.id)
  return queue(
    seen.id,
    before === undefined ? put(seen, request) : before.catch(() => seen).then(latest => put(latest, request)),
  )
}

/** Makes the next call for a span wait for this call. */
function queue(spanId: string, sent: Promise<SpanOfTrace>): Promise<SpanOfTrace> {
  pendingCalls.set(spanId, sent)
  const end = () => pendingCalls.get(spanId) === sent && pendingCalls.delete(spanId)
  sent.then(end, end)
  return sent
}

/** The most that browsers send after a page closes. */
const KEPT_ALIVE_LENGTH = 60_000 / 4

async function put(seen: SpanOfTrace, body: Decision | { decision: 'reset' }): Promise<SpanOfTrace> {
  const keepalive = JSON.stringify(body).length < KEPT_ALIVE_LENGTH
  for (const delay of RETRY_DELAYS_MS) {
    try {
      return await putOnce(seen, body, keepalive)
    } catch (error) {
      // The call is safe to repeat, because the service counts the same decision once.
      if (!isTemporary(faultOf(error))) throw error
      await new Promise(resolve => setTimeout(resolve, delay))
    }
  }
  return putOnce(seen, body, keepalive)
}

const putOnce = ({ id, etag }: SpanOfTrace, body: object, keepalive: boolean): Promise<SpanOfTrace> =>
  call<SpanOfTrace>(`/api/spans/${id}/review`, { method: 'PUT', body, headers: { 'if-match': etag }, keepalive })

const RETRY_DELAYS_MS = [500, 2_000]

const isTemporary = ({ status }: Fault): boolean => status === 0 || status >= 500

const faultOf = (error: unknown): Fault =>
  error instanceof Fault
    ? error
    : new Fault(error instanceof Error ? error.message : String(error), { status: 0, code: 'unknown', requestId: '' })
