import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { EXPERIMENT_ID, PROJECT_ID } from '../api/story.ts'
import { EXPERIMENT_STATES } from '../domain/experiment.ts'
import { Uuid } from '../http/atoms.ts'
import { firstOf, NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { projectSelector, selectedProject } from '../read/project.ts'
import { countChangesSince } from '../store/datasets/changes-since.ts'
import { countVersionsTried, listExperiments as readExperiments, runOf } from '../store/experiments/experiments.ts'
import { countAgreement } from '../store/experiments/judgments.ts'
import { findModelJob } from '../store/model-jobs/jobs.ts'
import { report as example, listedExperiment } from './examples.ts'
import { findFrame, OTHER_PROJECT, requireDatasetOf, requireExperiment } from './frame.ts'
import { readGateState } from './gate-state.ts'
import { readJudging, toAgreement } from './judge/judging.ts'
import { settled, tallyOf } from './tally.ts'
import { ListedExperiment, Report, toListed, toReport } from './wire.ts'

export const listExperiments = endpoint({
  family: 'experiment',
  method: 'GET',
  path: '/api/experiments',
  summary: "List a project's experiments, newest first",
  description: 'Includes those that failed or were canceled.',
  scope: 'read',
  query: v.strictObject({
    ...projectSelector,
    datasetId: v.optional(Uuid),
    promptVersionId: v.optional(Uuid),
    state: v.optional(v.picklist(EXPERIMENT_STATES)),
    ...pageParameters,
  }),
  errors: { 404: 'Not found', 422: OTHER_PROJECT },
  responses: { 200: v.object({ experiments: v.array(ListedExperiment), nextCursor: NextCursor }) },
  example: {
    query: { projectId: PROJECT_ID },
    answers: { 200: { experiments: [listedExperiment], nextCursor: null } },
  },
}).handle(async context => {
  const { query, store, now } = context
  const project = await selectedProject(context, query)
  const dataset = query.datasetId === undefined ? undefined : await requireDatasetOf(context, project, query.datasetId)
  const filter = { stepId: dataset?.stepId, promptVersionId: query.promptVersionId, state: query.state }
  const { items, nextCursor } = await pageOf({
    list: ['experiments', store.organization.id, project.id],
    query,
    place: ['number'],
    read: async (limit, after) => {
      const page = { limit: limit + 1, before: after?.[0], now }
      return firstOf(await readExperiments(store, project, filter, page), limit, ({ key }) => [key])
    },
  })
  return { status: 200, body: { experiments: items.map(item => toListed(item, now)), nextCursor } }
})

export const getExperiment = endpoint({
  family: 'experiment',
  method: 'GET',
  path: '/api/experiments/{experimentId}',
  summary: "Get an experiment's report",
  description:
    'Changes relative to recorded outputs are counted but not tested for significance, because people wrote the expected outputs by correcting the recorded ones. To test the difference between two candidates, compare their experiments.',
  scope: 'read',
  reads: 'primary',
  params: v.object({ experimentId: Uuid }),
  responses: { 200: Report },
  example: {
    params: { experimentId: EXPERIMENT_ID },
    answers: { 200: example },
  },
}).handle(async context => {
  const { params, store, now } = context
  const experiment = await settled(store, await requireExperiment(context, params.experimentId))
  const tally = await tallyOf(store, experiment)
  const versionsTried = await countVersionsTried(store, experiment)
  const frame = await findFrame(store, experiment)
  const changedSince = frame ? await countChangesSince(store, frame.dataset, frame.parts) : null
  const job = experiment.runner === 'model' ? await findModelJob(store, runOf(experiment.id)) : undefined
  const { promptVersionId } = experiment
  const { state: gate = null } =
    promptVersionId === null ? {} : await readGateState(store, experiment, promptVersionId, now)
  const judging = await readJudging(store, experiment, tally)
  const agreement = toAgreement(await countAgreement(store, experiment))
  const report = toReport(experiment, tally, { versionsTried, changedSince, job }, now)
  return { status: 200, body: { ...report, judging, agreement, gate } }
})
