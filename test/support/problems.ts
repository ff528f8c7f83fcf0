import { newId, newRevision } from '../../src/domain/ids.ts'
import { finishAttribution } from '../../src/store/attribution/finish.ts'
import { claimAttribution } from '../../src/store/attribution/leases.ts'
import { requestAttribution } from '../../src/store/attribution/requests.ts'
import { storeBeside } from './attribution.ts'
import { aFeedback } from './builders.ts'
import { stored } from './database.ts'
import type { Org } from './org.ts'

/** An engine's answer. */
export interface Blame {
  errorType: string
  spanId?: string | null
  docSlug?: string | null
  confidence?: number
}

/** Stores negative feedback on a trace, and then an engine's answer, the way a run does. */
export async function blame(org: Org, trace: { id: string; trace_id: string }, answer: Blame): Promise<void> {
  await org.ingest.post('/api/v1/feedback', aFeedback({ trace_id: trace.trace_id, rating: 'negative' }))
  await addAnswer(org, trace.id, answer)
}

/** Stores an engine's answer on a trace the way a run does. */
export async function addAnswer(
  org: Org,
  id: string,
  { errorType, spanId = null, docSlug = null, confidence = 0.8 }: Blame,
): Promise<void> {
  const traceKey = (await stored.prepare('select key from traces where id = ?').bind(id).first<number>('key')) ?? 0
  const store = await storeBeside(org, traceKey)
  const now = Date.now()
  await requestAttribution(store, id, { force: true, now })
  const claim = await claimAttribution(store, traceKey, { token: newRevision(), now })
  if (!claim) throw new Error('the job is not free')
  const evidence = docSlug === null ? [] : [{ spanId: null, path: `knowledgeDocs.${docSlug}`, note: 'says 24' }]
  const attribution = {
    errorType,
    spanId,
    evidence,
    confidence,
    alternatives: [],
    reasoning: 'x',
    engine: 'rules',
  }
  const cost = { durationMs: 1, inputTokens: null, outputTokens: null, costUsd: null }
  await finishAttribution(store, claim, { id: newId(), attribution, version: '2', cost }, now)
}
