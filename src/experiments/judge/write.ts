import { newId } from '../../domain/ids.ts'
import type { Store } from '../../store/core/store.ts'
import { findExperiment } from '../../store/experiments/experiments.ts'
import { type JudgmentDraft, saveJudgments } from '../../store/experiments/judgments.ts'
import { findCounted } from '../../store/experiments/results.ts'
import type { ModelJob } from '../../store/model-jobs/jobs.ts'
import { settled, tallyOf } from '../tally.ts'

/**
 * Returns a function that stores a judgment for a job's experiment. Judgments that arrive during a write are stored
 * together in the next write.
 */
export function judgmentWriter(store: Store, job: ModelJob, signal: AbortSignal) {
  let arrived: JudgmentDraft[] = []
  let writing = Promise.resolve()
  const write = async () => {
    const drafts = arrived
    arrived = []
    if (drafts.length > 0) await storeJudgments(store, job, drafts, signal)
  }
  return (draft: JudgmentDraft): Promise<void> => {
    arrived.push(draft)
    writing = writing.then(write)
    return writing
  }
}

/**
 * Stores judgments and counts them in the experiment's tally. Starts over if somebody else changes the experiment's
 * results.
 */
async function storeJudgments(
  store: Store,
  job: ModelJob,
  drafts: readonly JudgmentDraft[],
  signal: AbortSignal,
): Promise<void> {
  const ids = drafts.map(({ itemId }) => itemId)
  for (let losses = 1; ; losses++) {
    signal.throwIfAborted()
    const experiment = await findExperiment(store, job.subject)
    if (!experiment) return
    // If the experiment has ended, store its tally first.
    if (experiment.state !== 'running' && experiment.tally === null) {
      await settled(store, experiment)
      continue
    }
    const counted = await findCounted(store, experiment, ids)
    const tally = experiment.tally === null ? null : await tallyOf(store, experiment)
    for (const { itemId, contentHash, same } of drafts) {
      const result = counted.get(itemId)
      if (!result || result.contentHash !== contentHash || result.saidSame !== null) continue
      tally?.subtract(result)
      tally?.add({ ...result, saidSame: same })
    }
    if (await saveJudgments(store, experiment, drafts, { job, token: newId(), tally: tally?.toJSON() ?? null })) return
    await store.deadline.giveWay(losses)
  }
}
