import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { PROJECT_ID } from '../api/story.ts'
import { described } from '../http/atoms.ts'
import { ApiError } from '../http/errors.ts'
import { dailyLimit } from '../model/daily-limit.ts'
import { requireModel } from '../model/provider.ts'
import { countModelCalls } from '../store/accounts/model-calls.ts'
import { projectSelector, selectedProject } from './project.ts'

const Model = v.object({
  name: described(v.string(), '`<provider>/<model>`'),
  prices: described(
    v.nullable(v.object({ input: v.number(), output: v.number() })),
    'US dollars per million tokens. Null if not configured.',
  ),
  dailyLimit: described(v.number(), 'How many model calls a project may make per UTC day, for all uses together'),
  callsLeft: described(v.number(), 'How many model calls are left today'),
})

export const getModel = endpoint({
  family: 'read',
  method: 'GET',
  path: '/api/model',
  summary: 'Get the configured model',
  description: 'The model that runs experiments and, if attribution uses a model, finds root causes.',
  scope: 'read',
  query: v.strictObject(projectSelector),
  errors: { 404: 'Not found' },
  responses: {
    200: v.object({
      model: described(v.nullable(Model), 'Null if none is configured, or if its settings are invalid'),
      reason: described(v.nullable(v.string()), 'Why no model is configured, and how to configure one'),
    }),
  },
  example: {
    query: { projectId: PROJECT_ID },
    answers: {
      200: {
        model: { name: 'openai/gpt-4.1-mini', prices: { input: 0.4, output: 1.6 }, dailyLimit: 500, callsLeft: 460 },
        reason: null,
      },
    },
  },
}).handle(async context => {
  const { query, store, now, runtime } = context
  const project = await selectedProject(context, query)
  const limit = dailyLimit(runtime.env)
  try {
    const { name, prices } = requireModel(runtime.env)
    const callsLeft = Math.max(0, limit - (await countModelCalls(store, project, now)))
    return { status: 200, body: { model: { name, prices, dailyLimit: limit, callsLeft }, reason: null } }
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'model_not_configured')) throw error
    return { status: 200, body: { model: null, reason: error.message } }
  }
})
