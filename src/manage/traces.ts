import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { TRACE_UUID } from '../api/story.ts'
import type { Caller } from '../auth/authenticate.ts'
import { requireProject } from '../auth/require-project.ts'
import { inShard, type Job } from '../env.ts'
import { shownAs, Uuid } from '../http/atoms.ts'
import { findApiError, notFound } from '../http/errors.ts'
import { BatchResult, Results } from '../http/results.ts'
import { parse } from '../http/validation.ts'
import { MAX_DELETED_TRACES } from '../limits.ts'
import type { Act } from '../store/accounts/audit.ts'
import { changeSome } from '../store/core/across.ts'
import type { Store } from '../store/core/store.ts'
import { groupByTrace } from '../store/traces/placed.ts'
import { deleteTraces, findTraces } from '../store/traces/traces.ts'

export const deleteTrace = endpoint({
  family: 'manage',
  method: 'DELETE',
  path: '/api/traces/{traceId}',
  summary: 'Delete a trace with its spans and feedback',
  scope: 'manage',
  at: 'trace',
  params: v.object({ traceId: Uuid }),
  responses: { 200: v.object({ id: Uuid }) },
  example: {
    params: { traceId: TRACE_UUID },
    answers: { 200: { id: TRACE_UUID } },
  },
}).handle(async ({ params: { traceId }, ...context }) => {
  const requireDeleted = await removeTraces(context, [traceId])
  requireDeleted(traceId)
  return { status: 200, body: { id: traceId } }
})

export const postTraceDeletions = endpoint({
  family: 'manage',
  method: 'POST',
  path: '/api/traces/delete',
  summary: 'Delete many traces at once',
  description: 'Returns a result for each ID. A repeated ID gets the same result each time.',
  scope: 'manage',
  body: v.strictObject({
    ids: v.pipe(
      shownAs(v.array(v.unknown()), v.array(Uuid)),
      v.maxLength(MAX_DELETED_TRACES, `must have at most ${MAX_DELETED_TRACES} IDs`),
    ),
  }),
  responses: { 207: v.object({ results: v.array(BatchResult) }) },
  example: {
    body: { ids: [TRACE_UUID] },
    answers: { 207: { results: [{ status: 200, body: { id: TRACE_UUID } }] } },
  },
}).handle(async ({ body, requestId, ...context }) => {
  const results = new Results(requestId)
  const requests = body.ids.flatMap((input, index) =>
    results.take(index, `ids.${index}`, () => ({ index, id: parse(Uuid, input) })),
  )
  const ids = [...new Set(requests.map(({ id }) => id))]
  const checkOf = new Map<string, (id: string) => void>()
  await changeSome(
    await groupByTrace(context.store, ids),
    async (store, own) => {
      const requireDeleted = await removeTraces({ ...context, store }, own)
      for (const id of own) checkOf.set(id, requireDeleted)
    },
    (own, error) => {
      const requireDeleted = () => {
        throw findApiError(error) ?? error
      }
      for (const id of own) checkOf.set(id, requireDeleted)
    },
  )
  for (const { index, id } of requests) {
    results.settle(index, `ids.${index}`, () => {
      checkOf.get(id)?.(id)
      return { status: 200, body: { id } }
    })
  }
  return { status: 207, body: { results: results.inOrder() } }
})

interface Deletion {
  caller: Caller
  store: Store
  act: Act
  enqueue: (...jobs: Job[]) => Promise<boolean>
}

/**
 * Deletes the traces with these ids that are in one database, if the caller may delete them. Returns a function that
 * throws for an id whose trace wasn't deleted: 403 if the caller's key can't access the trace's project, else 404.
 */
async function removeTraces(
  { caller, store, act, enqueue }: Deletion,
  ids: readonly string[],
): Promise<(id: string) => void> {
  const deleted = await deleteTraces(store, act, ids, caller.project)
  const place = { organizationKey: store.organization.key, ...inShard(store.shard) }
  enqueue(...Array.from(deleted.values(), (traceKey): Job => ({ kind: 'purge_trace', ...place, traceKey })))
  const missing = ids.filter(id => !deleted.has(id))
  const found = new Map(missing.length > 0 ? (await findTraces(store, missing)).map(trace => [trace.id, trace]) : [])
  return id => {
    if (deleted.has(id)) return
    const trace = found.get(id)
    if (trace) requireProject(caller, trace.projectKey)
    throw notFound()
  }
}
