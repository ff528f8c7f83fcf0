import * as v from 'valibot'
import { requireProject } from '../auth/require-project.ts'
import { Uuid } from '../http/atoms.ts'
import { endpoint } from '../http/endpoint.ts'
import { forbidden, notFound } from '../http/errors.ts'
import { isForeignSpan } from '../store/ownership.ts'
import { findSpan } from '../store/span-detail.ts'
import { SpanOfTrace, toSpanOfTrace } from './wire.ts'

export const getSpan = endpoint({
  method: 'GET',
  path: '/api/spans/{spanId}',
  summary: 'Read one span in full',
  scope: 'read',
  params: v.object({ spanId: Uuid }),
  responses: { 200: SpanOfTrace },
}).handle(async ({ params, caller, store, registry }) => {
  const span = await findSpan(store, params.spanId)
  if (!span) throw (await isForeignSpan(registry, store.organization, params.spanId)) ? forbidden() : notFound()
  requireProject(caller, span.projectKey)
  return { status: 200, body: toSpanOfTrace(span) }
})
