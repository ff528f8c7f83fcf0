import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { PROMPT_ID, PROMPT_VERSION_ID, SCHEMA } from '../api/story.ts'
import { requirePerson } from '../auth/require-person.ts'
import { newId } from '../domain/ids.ts'
import type { JsonText } from '../domain/json.ts'
import { schemaErrors } from '../domain/output-schema.ts'
import { readGateState, refusal } from '../experiments/gate-state.ts'
import { objectOfBytes, pathItem, text, Uuid } from '../http/atoms.ts'
import { conflict, gateNotMet, invalidRequest } from '../http/errors.ts'
import { MAX_NAME_LENGTH, MAX_NOTE_LENGTH, MAX_PATTERN_STATES, MAX_SCHEMA_BYTES } from '../limits.ts'
import { prompt, promptVersion } from '../read/examples.ts'
import { Prompt, PromptVersion, toPrompt, toPromptVersion } from '../read/text-wire.ts'
import { requireText } from '../read/texts.ts'
import { hasNoGate, permitFirst, stepOfPrompt } from '../store/experiments/gates.ts'
import { changingTexts } from '../store/texts/near-texts.ts'
import { addText, findTextHead, findTextToExtend } from '../store/texts/versioned-texts.ts'
import {
  activateText,
  addTextVersion,
  Content,
  HAS_GATE,
  IsToBeActive,
  MAX_TEXT_BODY_BYTES,
  NO_VERSION,
  Note,
  namedProject,
  ProjectSlug,
  removeText,
  TOO_MUCH,
  VersionChoice,
  versionDraft,
  WrittenAt,
} from './texts.ts'

const OutputSchema = v.pipe(
  objectOfBytes(MAX_SCHEMA_BYTES),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return
    for (const { path, message } of schemaErrors(dataset.value))
      addIssue({
        message,
        ...(path && { path: [pathItem(path)] }),
      })
  }),
  v.metadata({
    description: `The JSON Schema of the step's output. \`$schema\` can be draft 4, 6, 7, 2019-09, or 2020-12, which is the
default. References must stay within the schema. Patterns can't have back-references, and all of a schema's patterns
together may have at most ${MAX_PATTERN_STATES} states. For example, \`a{1000}\` has 1,000 states.`,
    examples: [{ type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] }],
  }),
)

const TAKEN = 'This step already has a prompt'
const UNMET = "The version doesn't meet the step's gate"

const Override = v.pipe(
  text(1, MAX_NOTE_LENGTH),
  v.check(reason => reason.trim() !== '', 'must not be blank'),
  v.metadata({
    description:
      "Why a version that doesn't meet the step's gate should become active anyway. The audit log records it. Only people can send it, and it's ignored if it isn't needed.",
  }),
)

export const createPrompt = endpoint({
  family: 'manage',
  method: 'POST',
  path: '/api/prompts',
  summary: "Create a step's prompt",
  description:
    'The first version of the prompt becomes active. If the step has a gate, the call requires an `override`.',
  scope: 'manage',
  body: v.strictObject({
    projectSlug: ProjectSlug,
    stepId: text(1, MAX_NAME_LENGTH),
    content: Content,
    outputSchema: v.optional(OutputSchema, {}),
    note: v.optional(Note),
    createdAt: v.optional(WrittenAt),
    override: v.optional(Override),
  }),
  maxBytes: MAX_TEXT_BODY_BYTES,
  errors: { 404: 'Not found', 409: TAKEN },
  location: 201,
  responses: { 201: Prompt },
  example: {
    body: { projectSlug: 'support', stepId: prompt.stepId, content: prompt.content, outputSchema: SCHEMA },
    answers: { 201: prompt },
  },
}).handle(async context => {
  const { body, caller, store, act } = context
  if (body.override !== undefined) requirePerson(caller)
  const project = await namedProject(context, body.projectSlug)
  const draft = {
    id: newId(),
    kind: 'prompt',
    name: body.stepId,
    title: '',
    version: versionDraft(body, context),
  } as const
  const permit = permitFirst({ projectKey: project.key, stepId: body.stepId }, body.override)
  const prompt = await changingTexts(store, () => addText(store, act, project, draft, permit))
  if (prompt === 'taken') throw conflict(TAKEN, 'stepId')
  if (prompt === 'refused') throw gateNotMet(HAS_GATE, [{ path: 'override', message: HAS_GATE }])
  return { status: 201, body: toPrompt(prompt), location: `/api/prompts/${prompt.id}` }
})

export const createPromptVersion = endpoint({
  family: 'manage',
  method: 'POST',
  path: '/api/prompts/{promptId}/versions',
  summary: 'Create a version of a prompt',
  description:
    "If you omit `outputSchema`, the new version gets the active version's schema. If the step has a gate, a call with `activate: true` gets a 409 and creates no version.",
  scope: 'manage',
  params: v.object({ promptId: Uuid }),
  body: v.strictObject({
    content: Content,
    outputSchema: v.optional(OutputSchema),
    activate: v.optional(IsToBeActive, false),
    note: v.optional(Note),
    createdAt: v.optional(WrittenAt),
  }),
  maxBytes: MAX_TEXT_BODY_BYTES,
  errors: { 409: HAS_GATE, 422: TOO_MUCH },
  location: 201,
  responses: { 201: PromptVersion },
  example: {
    params: { promptId: PROMPT_ID },
    body: { content: prompt.content, note: 'Forbid answers from outside the chunks' },
    answers: { 201: { ...promptVersion, note: 'Forbid answers from outside the chunks' } },
  },
}).handle(async context => {
  const { params, body, store, act } = context
  const named = { kind: 'prompt', id: params.promptId } as const
  const prompt = await requireText(context, named, await findTextToExtend(store, named))
  if (body.outputSchema === undefined) requireApplicable(prompt.outputSchema)
  const version = await addTextVersion(store, act, prompt, versionDraft(body, context), body.activate)
  return { status: 201, body: toPromptVersion(version), location: `/api/prompts/${params.promptId}` }
})

/** 400 if a version would inherit an invalid schema that was stored before schemas were validated. */
function requireApplicable(inherited: JsonText | null): void {
  const errors = inherited ? schemaErrors(JSON.parse(inherited.text)) : []
  if (errors.length === 0) return
  const faults = errors.map(({ path, message }) => ({
    path: ['outputSchema', path].filter(Boolean).join('.'),
    message,
  }))
  throw invalidRequest(
    faults.map(({ path, message }) => ({ path, message: `${message} (inherited from the active version)` })),
  )
}

export const activatePromptVersion = endpoint({
  family: 'manage',
  method: 'PUT',
  path: '/api/prompts/{promptId}/active-version',
  summary: 'Activate a version of a prompt',
  description:
    "To roll back, activate an earlier version. If the step has a gate, a version that has never been active must meet the gate. If it doesn't, the call gets a 409 with the code `gate_not_met`, and `details` lists each unmet condition.",
  scope: 'manage',
  params: v.object({ promptId: Uuid }),
  body: v.strictObject({ ...VersionChoice.entries, override: v.optional(Override) }),
  errors: { 409: UNMET, 422: NO_VERSION },
  responses: { 200: Prompt },
  example: {
    params: { promptId: PROMPT_ID },
    body: { versionId: PROMPT_VERSION_ID },
    answers: { 200: prompt },
  },
}).handle(async context => {
  const { params, body, caller, store, act, now } = context
  const { versionId, override } = body
  if (override !== undefined) requirePerson(caller)
  const named = { kind: 'prompt', id: params.promptId } as const
  const prompt = await requireText(context, named, await findTextHead(store, named))
  const step = stepOfPrompt(prompt)
  // The batch that activates the version checks that the gate, its experiment, and the evaluator haven't changed in the
  // meantime. So activations, changes to the gate, and the ends of experiments happen one after another, in the order
  // that the audit log shows. The gate itself is checked here, before that batch, because SQL would have to add up its
  // counts again.
  const permit = async () => {
    const { state, holds } = await readGateState(store, step, versionId, now)
    if (!state || state.met) return { holds, reason: null }
    if (override === undefined) throw refusal(UNMET, state.unmet)
    return { holds, reason: override }
  }
  const barrier = { isAbsent: hasNoGate(step), permit }
  return { status: 200, body: toPrompt(await activateText(store, act, prompt, versionId, barrier)) }
})

export const deletePrompt = endpoint({
  family: 'manage',
  method: 'DELETE',
  path: '/api/prompts/{promptId}',
  summary: 'Delete a prompt',
  description: 'Also deletes all versions of the prompt. Spans keep the IDs of the versions they used.',
  scope: 'manage',
  params: v.object({ promptId: Uuid }),
  responses: { 200: v.object({ id: Uuid }) },
  example: {
    params: { promptId: PROMPT_ID },
    answers: { 200: { id: PROMPT_ID } },
  },
}).handle(async context => {
  const id = context.params.promptId
  await removeText(context, { kind: 'prompt', id })
  return { status: 200, body: { id } }
})
