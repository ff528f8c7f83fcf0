import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { PROJECT_ID, PROMPT_DRAFT_ID, PROMPT_ID, PROMPT_VERSION_ID, SCHEMA } from '../api/story.ts'
import { Uuid } from '../http/atoms.ts'
import { NextCursor, pageParameters } from '../http/cursor.ts'
import { findGate, stepOfPrompt } from '../store/experiments/gates.ts'
import { findPrompt } from '../store/texts/versioned-texts.ts'
import { readWatch } from '../store/texts/watch.ts'
import { gate, prompt, promptVersion, watch } from './examples.ts'
import { projectSelector, selectedProject } from './project.ts'
import { Prompt, PromptDetail, toPrompt, toPromptDetail } from './text-wire.ts'
import { FRESHNESS, pageOfTexts, requireText } from './texts.ts'
import { VersionDiff, versionDiff } from './version-diff.ts'

export const listPrompts = endpoint({
  family: 'read',
  method: 'GET',
  path: '/api/prompts',
  summary: "List a project's prompts, sorted by step",
  description: FRESHNESS,
  scope: 'read',
  query: v.strictObject({
    ...projectSelector,
    stepId: v.optional(v.pipe(v.string(), v.metadata({ description: "Only this step's prompt" }))),
    ...pageParameters,
  }),
  etag: 'body',
  reads: 'memory',
  errors: { 404: 'Not found' },
  responses: { 200: v.object({ prompts: v.array(Prompt), nextCursor: NextCursor }) },
  example: {
    query: { projectId: PROJECT_ID },
    answers: { 200: { prompts: [prompt], nextCursor: null } },
  },
}).handle(async context => {
  const { query } = context
  const project = await selectedProject(context, query)
  const { items, nextCursor } = await pageOfTexts(context, project, 'prompt', { ...query, name: query.stepId })
  return { status: 200, body: { prompts: items.map(toPrompt), nextCursor } }
})

export const getPrompt = endpoint({
  family: 'read',
  method: 'GET',
  path: '/api/prompts/{promptId}',
  summary: 'Get a prompt',
  description:
    "Includes every version, oldest first, each with counts of the decisions on spans that used it. Also includes the step's gate and a comparison of the active version with the previous one.",
  scope: 'read',
  reads: 'primary',
  params: v.object({ promptId: Uuid }),
  responses: { 200: PromptDetail },
  example: {
    params: { promptId: PROMPT_ID },
    answers: {
      200: {
        id: PROMPT_ID,
        stepId: prompt.stepId,
        outputSchema: SCHEMA,
        versions: [{ ...promptVersion, accepted: 11, corrected: 3, wasActive: true, suggestedFor: null }],
        gate,
        watch,
      },
    },
  },
}).handle(async context => {
  const named = { kind: 'prompt', id: context.params.promptId } as const
  const prompt = await requireText(context, named, await findPrompt(context.store, named.id))
  const { store } = context
  const [gate, watch] = await Promise.all([findGate(store, stepOfPrompt(prompt)), readWatch(store, prompt.id)])
  return { status: 200, body: toPromptDetail(prompt, gate, watch) }
})

export const diffPromptVersions = endpoint({
  family: 'read',
  method: 'GET',
  path: '/api/prompts/{promptId}/versions/{a}/diff/{b}',
  summary: 'Compare two versions of a prompt',
  scope: ['read', 'manage'],
  params: v.object({ promptId: Uuid, a: Uuid, b: Uuid }),
  responses: { 200: VersionDiff },
  example: {
    params: { promptId: PROMPT_ID, a: PROMPT_VERSION_ID, b: PROMPT_DRAFT_ID },
    answers: {
      200: {
        lines: [
          { op: 'remove', text: 'Answer the question.' },
          { op: 'add', text: prompt.content },
        ],
        isMinimal: true,
        schema: [{ path: 'properties.answer.type', op: 'change', before: 'object', after: 'string' }],
      },
    },
  },
}).handle(async context => {
  const { promptId: id, ...versions } = context.params
  return { status: 200, body: await versionDiff(context, { kind: 'prompt', id }, versions) }
})
