import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { SPAN_ID, TRACE_ID, TRACE_UUID } from '../api/story.ts'
import { requireFound } from '../auth/require-project.ts'
import { Uuid } from '../http/atoms.ts'
import { isForeignSpan } from '../store/accounts/ownership.ts'
import { findSpan } from '../store/spans/located-spans.ts'
import { span } from './examples.ts'
import { SpanOfTrace, toSpanOfTrace } from './wire.ts'

export const getSpan = endpoint({
  family: 'read',
  method: 'GET',
  path: '/api/spans/{spanId}',
  summary: 'Get a span',
  scope: 'read',
  params: v.object({ spanId: Uuid }),
  etag: 'own',
  responses: { 200: SpanOfTrace },
  example: {
    params: { spanId: SPAN_ID },
    answers: { 200: { ...span, trace: { id: TRACE_UUID, traceId: TRACE_ID, name: 'support-answer' } } },
  },
}).handle(async ({ params, caller, store, unscoped }) => {
  const { spanId } = params
  const isForeign = () => isForeignSpan(unscoped, store.organization, spanId)
  const span = toSpanOfTrace(await requireFound(caller, await findSpan(store, spanId), isForeign))
  return { status: 200, body: span, etag: span.etag }
})
