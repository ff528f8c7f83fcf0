import * as v from 'valibot'
import type { Context } from '../api/context.ts'
import type { Contract } from '../api/contract.ts'
import { endpoint } from '../api/endpoint.ts'
import { EXPERIMENT_ID, JUDGED } from '../api/story.ts'
import { Uuid } from '../http/atoms.ts'
import { conflict, notFound } from '../http/errors.ts'
import { actorOf } from '../store/accounts/audit.ts'
import { endExperiment, findExperiment } from '../store/experiments/experiments.ts'
import { cancelModelJob } from '../store/model-jobs/jobs.ts'
import { experiment, report } from './examples.ts'
import { frameOf, requireExperiment } from './frame.ts'
import { sendJudging } from './judge/hint.ts'
import { hasPending, settled } from './tally.ts'
import { Experiment, toExperiment } from './wire.ts'

const ENDED = 'The experiment has already ended'

export const finishExperiment = endpoint({
  family: 'experiment',
  method: 'POST',
  path: '/api/experiments/{experimentId}/finish',
  summary: 'Finish an experiment',
  description: 'Items without a result become errors. Finishing it again changes nothing.',
  scope: 'review',
  params: v.object({ experimentId: Uuid }),
  errors: { 409: ENDED },
  responses: { 200: Experiment },
  example: {
    params: { experimentId: EXPERIMENT_ID },
    answers: {
      200: { ...experiment, state: 'finished', finishedAt: JUDGED, lastResultAt: report.lastResultAt, pending: 0 },
    },
  },
}).handle(async context => ({ status: 200, body: await end(context, 'finished') }))

export const cancelExperiment = endpoint({
  family: 'experiment',
  method: 'POST',
  path: '/api/experiments/{experimentId}/cancel',
  summary: 'Cancel an experiment',
  description: 'The experiment keeps its results but accepts no more. Canceling it again changes nothing.',
  scope: 'review',
  params: v.object({ experimentId: Uuid }),
  errors: { 409: ENDED },
  responses: { 200: Experiment },
  example: {
    params: { experimentId: EXPERIMENT_ID },
    answers: { 200: { ...experiment, state: 'cancelled', finishedAt: JUDGED } },
  },
}).handle(async context => ({ status: 200, body: await end(context, 'cancelled') }))

async function end(
  context: Pick<
    Context<Contract & { scope: 'review' }>,
    'caller' | 'store' | 'unscoped' | 'now' | 'runtime' | 'enqueue'
  > & {
    params: { experimentId: string }
  },
  state: 'finished' | 'cancelled',
) {
  const { params, caller, store, now } = context
  const experiment = await requireExperiment(context, params.experimentId)
  // Fails if the dataset lost the experiment's version. Items that can't be found wouldn't become errors, so the gate
  // wouldn't count them.
  if (state === 'finished' && experiment.state === 'running' && hasPending(experiment)) await frameOf(store, experiment)
  if (!(await endExperiment(store, experiment, { state, now, by: actorOf(caller) }))) throw conflict(ENDED, '')
  const ended = await findExperiment(store, experiment.id)
  if (!ended) throw notFound()
  const latest = await settled(store, ended)
  if (state === 'cancelled') await cancelModelJob(store, { kind: 'judge_results', subject: latest.id })
  else sendJudging(context, latest)
  return toExperiment(latest, now)
}
