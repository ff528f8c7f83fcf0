import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { ANSWERED, EXPERIMENT_ID, JUDGED, PROJECT_ID, SPAN_ID, USER_ID } from '../api/story.ts'
import { ITEM_VERDICTS } from '../domain/experiment.ts'
import { described, isoTime, text, Uuid } from '../http/atoms.ts'
import { firstOf, NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { MAX_NAME_LENGTH } from '../limits.ts'
import { requireModel } from '../model/provider.ts'
import { projectSelector, selectedProject } from '../read/project.ts'
import { countAgreement, listDecided } from '../store/experiments/judgments.ts'
import { requestModelJob } from '../store/model-jobs/jobs.ts'
import { judging, judgment } from './examples.ts'
import { frameOf, requireExperiment } from './frame.ts'
import { judgeMessage } from './judge/hint.ts'
import { Judging, Judgment, ModelAgreement, readJudging, toAgreement } from './judge/judging.ts'
import { settled, tallyOf } from './tally.ts'
import { Verdict } from './wire.ts'

const REFUSED = 'No model is configured (code `model_not_configured`), or the step was renamed'

export const postJudgments = endpoint({
  family: 'experiment',
  method: 'POST',
  path: '/api/experiments/{experimentId}/judgments',
  summary: 'Ask a model about unjudged items',
  description:
    "In the background, asks the model whether each unjudged output means the same as the expected one. The model gets the input, the expected outputs, and the candidate's output. Items that already have a judgment aren't judged again, so you can repeat the call. A judgment only affects gates with `allowJudge`.",
  scope: 'review',
  params: v.object({ experimentId: Uuid }),
  location: 202,
  errors: { 409: REFUSED },
  responses: { 200: Judging, 202: Judging },
  example: {
    params: { experimentId: EXPERIMENT_ID },
    answers: { 200: { ...judging, waiting: 0, job: null }, 202: judging },
  },
}).handle(async context => {
  const { params, store, runtime, enqueue, now } = context
  const experiment = await settled(store, await requireExperiment(context, params.experimentId))
  const tally = await tallyOf(store, experiment)
  const before = await readJudging(store, experiment, tally)
  if (before.waiting === 0) return { status: 200, body: before }
  requireModel(runtime.env)
  await frameOf(store, experiment)
  const { id, projectKey } = experiment
  await requestModelJob(store, { kind: 'judge_results', subject: id, projectKey }, { now, runsAgain: true })
  enqueue(judgeMessage(store, experiment))
  const body = await readJudging(store, experiment, tally)
  return { status: 202, body, location: `/api/experiments/${id}` }
})

const DecidedJudgment = v.object({
  experimentId: Uuid,
  itemId: Uuid,
  judgment: Judgment,
  review: Verdict,
})

export const listJudgments = endpoint({
  family: 'experiment',
  method: 'GET',
  path: '/api/judgments',
  summary: 'List the outputs that both a model and a person judged',
  description:
    "Covers all experiments on a step, newest first. `agreement` shows how often the model agrees with people, regardless of the filters. People may have seen the model's judgment before they decided.",
  scope: 'read',
  query: v.strictObject({
    ...projectSelector,
    stepId: text(1, MAX_NAME_LENGTH),
    judgment: v.optional(described(v.picklist(['same', 'different']), "The model's judgment of the output")),
    decision: v.optional(described(v.picklist(ITEM_VERDICTS), "The person's decision")),
    ...pageParameters,
  }),
  errors: { 404: 'Not found' },
  responses: {
    200: v.object({ agreement: ModelAgreement, judgments: v.array(DecidedJudgment), nextCursor: NextCursor }),
  },
  example: {
    query: { projectId: PROJECT_ID, stepId: 'generate-answer', judgment: 'same', decision: 'reject' },
    answers: {
      200: {
        agreement: {
          agreed: 18,
          of: 20,
          interval: { low: 0.699, high: 0.972 },
          sameAccepted: 12,
          sameRejected: 1,
          differentAccepted: 1,
          differentRejected: 6,
        },
        judgments: [
          {
            experimentId: EXPERIMENT_ID,
            itemId: SPAN_ID,
            judgment: { ...judgment, at: JUDGED },
            review: { decision: 'reject', comment: 'It leaves out the condition.', by: USER_ID, at: ANSWERED },
          },
        ],
        nextCursor: null,
      },
    },
  },
}).handle(async context => {
  const { query, store } = context
  const project = await selectedProject(context, query)
  const step = { projectKey: project.key, stepId: query.stepId }
  const same = query.judgment === undefined ? undefined : query.judgment === 'same'
  const agreement = toAgreement(await countAgreement(store, step))
  const { items, nextCursor } = await pageOf({
    list: ['judgments', store.organization.id, project.id],
    query,
    place: ['number', 'string'],
    read: async (limit, after) => {
      const found = await listDecided(store, step, { same, verdict: query.decision }, { limit: limit + 1, after })
      return firstOf(found, limit, ({ experimentKey, itemId }) => [experimentKey, itemId])
    },
  })
  const judgments = items.map(({ experimentId, itemId, same, reason, model, at, verdict, ...review }) => ({
    experimentId,
    itemId,
    judgment: { same, reason, model, at: isoTime(at) },
    review: { decision: verdict, comment: review.comment, by: review.reviewedBy, at: isoTime(review.reviewedAt) },
  }))
  return { status: 200, body: { agreement, judgments, nextCursor } }
})
