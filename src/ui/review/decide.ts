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

/** Called with each decision that was not taken. */
type OnTrouble = (span: SpanOfTrace, trouble: Trouble) => void

/** What is on its way for a span: the next call on it waits for this one, and goes by the etag that it leaves. */
const underWay = new Map<string, Promise<SpanOfTrace>>()

/** Sends a decision on a span as it was seen. The reviewer goes on meanwhile: the draft is kept until it is saved. */
export async function decide(desk: Desk, seen: SpanOfTrace, request: Decision, onTrouble: OnTrouble): Promise<void> {
  const { id } = seen
  const { drafts, sitting, claims } = desk
  const decided: Decided = { request, seen, draft: drafts.get(id), isSaved: false }
  drafts.flush()
  claims.forget(id)
  sitting.change(before => withDecision(before, id, decided, Date.now()))
  try {
    const after = await send(seen, request)
    const isLast = sitting.get().decided.get(id) === decided
    if (!isLast) return
    queryClient.setQueryData(spanQuery(id).queryKey, after)
    sitting.change(before => withSaved(before, id, decided))
    if (drafts.get(id) === decided.draft) drafts.remove(id)
  } catch (error) {
    if (sitting.get().decided.get(id) !== decided) return
    sitting.change(before => withoutDecision(before, id))
    await tellTrouble(desk, { request, seen, fault: faultOf(error) }, onTrouble)
  }
}

/** Takes a decision of this sitting back, and lays the span out as it was before, with what was written about it. */
export async function undo(desk: Desk, spanId: string, onTrouble: OnTrouble): Promise<void> {
  const { drafts, sitting } = desk
  const decided = sitting.get().decided.get(spanId)
  if (!decided) return
  const { seen, draft } = decided
  const { queryKey } = spanQuery(spanId)
  const after = underWay.get(spanId) ?? Promise.resolve(queryClient.getQueryData(queryKey) ?? seen)
  sitting.change(before => withResetting(withoutDecision(before, spanId), spanId, true))
  if (draft) drafts.put(spanId, draft)
  queryClient.setQueryData(queryKey, seen)
  // A decision that failed has nothing to take back.
  const decidedSpan = await after.catch(() => undefined)
  try {
    if (!decidedSpan) return
    const open = await send(decidedSpan, { decision: 'reset' })
    if (!sitting.get().decided.has(spanId)) queryClient.setQueryData(queryKey, open)
    // What was written goes by what the decision went by.
    const written = drafts.get(spanId)
    if (written) drafts.put(spanId, { ...written, etag: open.etag })
  } catch (error) {
    await tellTrouble(desk, { request: 'reset', seen: decidedSpan ?? seen, fault: faultOf(error) }, onTrouble)
  } finally {
    sitting.change(before => withResetting(before, spanId, false))
  }
}

/** Goes on with a span as it is now. What was written stays. */
export const goOn = ({ sitting }: Desk, spanId: string): void =>
  sitting.change(before => withoutTrouble(before, spanId))

async function tellTrouble({ sitting }: Desk, trouble: Trouble, onTrouble: OnTrouble): Promise<void> {
  const { seen, fault } = trouble
  // What it is by now, to be compared with what it was.
  if (fault.status === 412) await queryClient.fetchQuery({ ...spanQuery(seen.id), staleTime: 0 }).catch(() => undefined)
  sitting.change(before => withTrouble(before, seen.id, trouble))
  onFault(fault)
  onTrouble(seen, trouble)
}

function send(seen: SpanOfTrace, request: Decision | { decision: 'reset' }): Promise<SpanOfTrace> {
  const before = underWay.get(seen.id)
  const sent = before === undefined ? put(seen, request) : before.catch(() => seen).then(latest => put(latest, request))
  underWay.set(seen.id, sent)
  const end = () => underWay.get(seen.id) === sent && underWay.delete(seen.id)
  sent.then(end, end)
  return sent
}

/** What a browser still sends for a page that goes away. */
const KEPT_ALIVE_LENGTH = 60_000 / 4

async function put(seen: SpanOfTrace, body: Decision | { decision: 'reset' }): Promise<SpanOfTrace> {
  const keepalive = JSON.stringify(body).length < KEPT_ALIVE_LENGTH
  for (const delay of RETRY_DELAYS_MS) {
    try {
      return await putOnce(seen, body, keepalive)
    } catch (error) {
      // The same decision sent again counts once.
      if (!isPassing(faultOf(error))) throw error
      await new Promise(resolve => setTimeout(resolve, delay))
    }
  }
  return putOnce(seen, body, keepalive)
}

const putOnce = ({ id, etag }: SpanOfTrace, body: object, keepalive: boolean): Promise<SpanOfTrace> =>
  call<SpanOfTrace>(`/api/spans/${id}/review`, { method: 'PUT', body, headers: { 'if-match': etag }, keepalive })

const RETRY_DELAYS_MS = [500, 2_000]

const isPassing = ({ status }: Fault): boolean => status === 0 || status >= 500

const faultOf = (error: unknown): Fault =>
  error instanceof Fault
    ? error
    : new Fault(error instanceof Error ? error.message : String(error), { status: 0, code: 'unknown', requestId: '' })
