import { type SQL, sql } from 'drizzle-orm'
import type { ExperimentState } from '../../domain/experiment.ts'
import { newId } from '../../domain/ids.ts'
import { recordEvents } from '../core/outbox.ts'
import { readStepId } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { experiments } from '../schema/experiments.ts'

/**
 * The statements (one or none) that record that an experiment ends. They come right before the update with the same
 * condition, so a retry after a lost reply records nothing more. The figures are read when the event is sent.
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
