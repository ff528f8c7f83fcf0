import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { EXPERIMENT_ID, JUDGED } from '../api/story.ts'
import type { Caller } from '../auth/authenticate.ts'
import { Uuid } from '../http/atoms.ts'
import { conflict, notFound } from '../http/errors.ts'
import type { Store, UnscopedStore } from '../store/core/store.ts'
import { endExperiment, findExperiment } from '../store/experiments/experiments.ts'
import { experiment, report } from './examples.ts'
import { frameOf, requireExperiment } from './frame.ts'
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
  description: 'The experiment keeps its results but takes no more. Canceling it again changes nothing.',
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
  context: {
    params: { experimentId: string }
    caller: Caller
    store: Store
    unscoped: UnscopedStore
    now: number
  },
  state: 'finished' | 'cancelled',
) {
  const { params, store, now } = context
  const experiment = await requireExperiment(context, params.experimentId)
  // Otherwise the items that can't be found anymore wouldn't become errors, and the gate wouldn't count them.
  if (state === 'finished' && experiment.state === 'running' && hasPending(experiment)) await frameOf(store, experiment)
  if (!(await endExperiment(store, experiment, { state, now }))) throw conflict(ENDED, '')
  const ended = await findExperiment(store, experiment.id)
  if (!ended) throw notFound()
  return toExperiment(await settled(store, ended), now)
}
