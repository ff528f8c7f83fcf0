import { type SQL, sql } from 'drizzle-orm'
import type { ExperimentState } from '../../domain/experiment.ts'
import { newId } from '../../domain/ids.ts'
import { recordEvents } from '../core/outbox.ts'
import { readStepId } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { experiments } from '../schema/experiments.ts'

/**
 * Returns a list with the statement that records the end of an experiment, or an empty list if no webhook subscribes to
 * it. Run it right before the update that has the same condition, so that a retry after a lost reply doesn't record the
 * end again. The figures are read when the event is sent.
 */
export function recordEnd(
  store: Store,
  { id, projectKey }: { id: string; projectKey: number },
  isEnding: SQL | undefined,
  {
    state,
    now,
    reason,
    by,
  }: { state: Exclude<ExperimentState, 'running'>; now: number; reason: string | null; by: string | null },
) {
  const { stepId, datasetId, promptVersionId } = experiments
  const event = {
    id: newId(),
    traceKey: null,
    subjectId: id,
    actorId: by,
    at: now,
    data: {
      experimentId: id,
      datasetId,
      stepId: readStepId(sql`${projectKey}`, stepId),
      promptVersionId,
      state,
      endReason: reason,
    },
  }
  return recordEvents(store, 'experiment.finished', projectKey, event, sql`from ${experiments} where ${isEnding}`)
}
