import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { CURSOR, DATASET_ID, PROJECT_ID } from '../api/story.ts'
import { requirePerson } from '../auth/require-person.ts'
import { Slug, text, Uuid } from '../http/atoms.ts'
import { NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { MAX_NAME_LENGTH } from '../limits.ts'
import { projectSelector, selectedProject } from '../read/project.ts'
import { addDataset, listDatasets as readDatasets, setEvaluator } from '../store/datasets/datasets.ts'
import { dataset } from './examples.ts'
import { Dataset, Evaluator, requireDataset, toDataset } from './wire.ts'

export const listDatasets = endpoint({
  family: 'dataset',
  method: 'GET',
  path: '/api/datasets',
  summary: "List a project's datasets",
  description:
    'Each step with reviewed spans has a dataset. Its items are those spans and any imported examples. Reviews create and update the items.',
  scope: 'read',
  query: v.strictObject({ ...projectSelector, ...pageParameters }),
  errors: { 404: 'Not found' },
  responses: { 200: v.object({ datasets: v.array(Dataset), nextCursor: NextCursor }) },
  example: {
    query: { projectId: PROJECT_ID },
    answers: { 200: { datasets: [dataset], nextCursor: CURSOR } },
  },
}).handle(async context => {
  const { query, store } = context
  const project = await selectedProject(context, query)
  const { items, nextCursor } = await pageOf({
    list: ['datasets', store.organization.id, project.id],
    query,
    place: ['string'],
    read: (limit, after) => readDatasets(store, project, { limit, after: after?.[0] ?? '' }),
  })
  return { status: 200, body: { datasets: await Promise.all(items.map(toDataset)), nextCursor } }
})

export const getDataset = endpoint({
  family: 'dataset',
  method: 'GET',
  path: '/api/datasets/{datasetId}',
  summary: 'Get a dataset',
  description: "If the step was renamed, the dataset's earlier ID still works.",
  scope: 'read',
  params: v.object({ datasetId: Uuid }),
  responses: { 200: Dataset },
  example: {
    params: { datasetId: DATASET_ID },
    answers: { 200: dataset },
  },
}).handle(async context => ({
  status: 200,
  body: await toDataset(await requireDataset(context, context.params.datasetId)),
}))

export const putDataset = endpoint({
  family: 'dataset',
  method: 'PUT',
  path: '/api/datasets',
  summary: "Create a step's dataset",
  description:
    'Reviews create datasets automatically. Use this call before you import examples for a step without reviews. If the step already has a dataset, the call returns it. Only people can make this call.',
  scope: 'review',
  body: v.strictObject({ projectSlug: Slug, stepId: text(1, MAX_NAME_LENGTH) }),
  errors: { 404: 'Not found' },
  responses: { 200: Dataset },
  example: {
    body: { projectSlug: 'support', stepId: dataset.stepId },
    answers: { 200: dataset },
  },
}).handle(async context => {
  const { body, caller, store, act } = context
  requirePerson(caller)
  const project = await selectedProject(context, { projectSlug: body.projectSlug })
  return { status: 200, body: await toDataset(await addDataset(store, act, project, body.stepId)) }
})

export const putEvaluator = endpoint({
  family: 'dataset',
  method: 'PUT',
  path: '/api/datasets/{datasetId}/evaluator',
  summary: "Set how a dataset's outputs are compared",
  description: 'Applies to experiments that start later. Only people can make this call.',
  scope: 'manage',
  params: v.object({ datasetId: Uuid }),
  body: Evaluator,
  responses: { 200: Dataset },
  example: {
    params: { datasetId: DATASET_ID },
    body: { paths: { total: { type: 'number', tolerance: 0.01 }, note: { type: 'ignore' } } },
    answers: {
      200: {
        ...dataset,
        evaluator: { paths: { total: { type: 'number', tolerance: 0.01 }, note: { type: 'ignore' } } },
      },
    },
  },
}).handle(async context => {
  const { params, body, caller, store, act } = context
  requirePerson(caller)
  const found = await requireDataset(context, params.datasetId)
  const evaluator = JSON.stringify(body)
  await setEvaluator(store, act, found, evaluator)
  return { status: 200, body: await toDataset({ ...found, evaluator }) }
})
