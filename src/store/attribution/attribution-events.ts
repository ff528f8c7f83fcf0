import { and, eq, type SQL, sql } from 'drizzle-orm'
import { newId } from '../../domain/ids.ts'
import { recordEvents, recordEventsOfProjects } from '../core/outbox.ts'
import { readStepId } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { attributionJobs, attributions } from '../schema/attribution.ts'
import { traces } from '../schema/traces.ts'
import { webhookEvents } from '../schema/webhooks.ts'
import { isLive } from '../traces/live.ts'
import type { Claim } from './jobs.ts'

/** The statements (one or none) that record an engine's answer. Run them after the statement that adds the answer. */
export function recordAnswer(store: Store, { traceKey, projectKey }: Claim, id: string, at: number) {
  const { spanId, stepId, errorType, confidence, docSlug, engine } = attributions
  const event = {
    id: newId(),
    traceKey,
    subjectId: id,
    actorId: null,
    at,
    data: {
      status: 'done',
      attributionId: id,
      spanId,
      stepId: sql`nullif(${readStepId(sql`${projectKey}`, stepId)}, '')`,
      errorType,
      confidence,
      docSlug,
      engine,
      failure: null,
    },
  }
  return recordEvents(
    store,
    'attribution.finished',
    projectKey,
    event,
    sql`from ${attributions} where ${attributions.traceKey} = ${traceKey} and ${attributions.id} = ${id}`,
  )
}

/**
 * The statements (one or none) that record that a job fails permanently. Run them before the update with the same
 * condition, so a retry after a lost reply records nothing more. They return the projects for `hint`.
 */
export const recordFailure = (store: Store, isFailing: SQL | undefined, failure: SQL, at: number) =>
  recordEventsOfProjects(
    store,
    'attribution.finished',
    attributionJobs.projectKey,
    {
      id: newId(),
      traceKey: attributionJobs.traceKey,
      subjectId: sql`(select failing.id from ${traces} failing where failing.key = ${attributionJobs.traceKey})`,
      actorId: null,
      at,
      data: { ...NO_ANSWER, status: 'failed', failure },
    },
    sql`from ${attributionJobs} where ${isFailing}`,
  ).map(statement => statement.returning({ projectKey: sql<number>`${webhookEvents.projectKey}`.as('projectKey') }))

/** Adds the projects whose failures were recorded to the outbox. */
export function hint({ outbox }: Store, recorded: readonly (readonly { projectKey: number }[])[]): void {
  for (const { projectKey } of recorded.flat()) outbox.add(projectKey)
}

const NO_ANSWER = {
  attributionId: null,
  spanId: null,
  stepId: null,
  errorType: null,
  confidence: null,
  docSlug: null,
  engine: null,
}

/** Reads an engine's reasoning and evidence for an answer about a live trace. */
export async function readAnswerValues(store: Store, { traceKey, id }: { traceKey: number; id: string }) {
  const [row] = await store.database
    .select({ reasoning: attributions.reasoning, evidence: attributions.evidence })
    .from(traces)
    .innerJoin(attributions, and(eq(attributions.traceKey, traces.key), eq(attributions.id, id)))
    .where(isLive(store, eq(traces.key, traceKey)))
  return row
}
