import { sha256Hex } from '../domain/hash.ts'
import { hashOutput } from '../domain/review-state.ts'
import { notFound } from '../http/errors.ts'
import type { Results } from '../http/results.ts'
import type { Store } from '../store/core/store.ts'
import { type ExperimentRecord, findExperiment } from '../store/experiments/experiments.ts'
import { addResults, type ResultHead, withdrawResults } from '../store/experiments/results.ts'
import { judgeResults, type SentResult } from './judge-results.ts'
import { settled } from './tally.ts'

/** Identifies a result's output or error, to distinguish a repeated result from a different one. */
export const hashResult = ({ output, error }: Pick<SentResult, 'output' | 'error'>): Promise<string> =>
  output === null ? sha256Hex(`error:${error}`) : hashOutput(output)

/**
 * Judges and stores results. Returns the results that are stored for their items afterward, and the experiment, if any
 * result was written. Errors in individual results go to `results`.
 */
export async function storeResults(
  store: Store,
  experiment: ExperimentRecord,
  sent: readonly SentResult[],
  results: Results,
  { token, now }: { token: string; now: number },
): Promise<{ after: Map<string, ResultHead>; latest: ExperimentRecord | undefined }> {
  const drafts = await judgeResults(store, experiment, sent, results)
  if (drafts.length === 0) return { after: new Map(), latest: undefined }
  const after = await addResults(
    store,
    experiment,
    drafts.map(({ draft }) => draft),
    { token, now },
  )
  const gone = await withdrawResults(
    store,
    experiment,
    drafts.map(({ head }) => head),
  )
  for (const { head, index } of drafts.filter(({ head }) => gone.has(head.id))) {
    after.delete(head.id)
    results.take(index, `results.${index}`, () => {
      throw notFound('The item has been deleted')
    })
  }
  const latest = await findExperiment(store, experiment.id)
  return { after, latest: latest && (await settled(store, latest)) }
}
