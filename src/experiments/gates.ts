import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { PROJECT_ID, PROMPT_DRAFT_ID } from '../api/story.ts'
import { requirePerson } from '../auth/require-person.ts'
import { requireProject } from '../auth/require-project.ts'
import { Split } from '../datasets/wire.ts'
import { MIN_ROLLBACK_LOOK } from '../domain/watch.ts'
import { described, text, Uuid, wholeNumber } from '../http/atoms.ts'
import { notFound } from '../http/errors.ts'
import { MAX_EXPERIMENT_ITEMS, MAX_GATE_AGE_DAYS, MAX_NAME_LENGTH } from '../limits.ts'
import { gate } from '../read/examples.ts'
import { Gate, toGate } from '../read/gate.ts'
import { selectedProject } from '../read/project.ts'
import { findProject } from '../store/accounts/projects.ts'
import { findActiveVersion, findGate, deleteGate as removeGate, saveGate } from '../store/experiments/gates.ts'
import { gateState } from './examples.ts'
import { GateState, readGateState } from './gate-state.ts'

/* A gate belongs to a step, not to its prompt, so it outlives the prompt. */

const params = v.object({ projectId: Uuid, stepId: text(1, MAX_NAME_LENGTH) })

const between = (min: number, max: number) =>
  v.pipe(v.number(), v.minValue(min, `must be at least ${min}`), v.maxValue(max, `must be at most ${max}`))

/** A condition that doesn't apply if it's null or missing. */
const condition = <Schema extends v.GenericSchema<number, number>>(schema: Schema, description: string) =>
  described(v.optional(v.nullable(schema), null), description)

export const putGate = endpoint({
  family: 'experiment',
  method: 'PUT',
  path: '/api/projects/{projectId}/gates/{stepId}',
  summary: "Set a step's gate",
  description:
    "Sets what an experiment must show before a version of the step's prompt can become active. Replaces the step's existing gate. A version that was active before can always become active again. Only people can make this call.",
  scope: 'manage',
  params,
  body: v.strictObject({
    minItems: described(
      wholeNumber(1, MAX_EXPERIMENT_ITEMS),
      'The minimum number of items that passed, failed, or ended in an error',
    ),
    minPassRate: condition(
      between(0, 1),
      'The minimum pass rate: items that passed, as a share of all items that passed, failed, or ended in an error',
    ),
    maxRegressed: condition(
      wholeNumber(0, MAX_EXPERIMENT_ITEMS),
      'The maximum number of items that are wrong but were right in production',
    ),
    maxUnjudged: condition(wholeNumber(0, MAX_EXPERIMENT_ITEMS), 'The maximum number of items that nobody has judged'),
    maxAgeDays: condition(between(0, MAX_GATE_AGE_DAYS), 'The maximum number of days since the experiment finished'),
    split: v.optional(described(Split, 'The split whose items count'), 'test'),
    allowJudge: v.optional(
      described(
        v.boolean(),
        "Whether an unjudged item counts as passed or failed according to a model's judgment. A person's decision takes precedence. If true, each finished experiment on the step is judged automatically.",
      ),
      false,
    ),
    autoRollback: described(
      v.optional(v.boolean(), false),
      `Whether to reactivate the previous version if, after at least ${MIN_ROLLBACK_LOOK} decisions, the rollback watch finds that the new one is worse. A version that was active before is never rolled back.`,
    ),
  }),
  responses: { 200: Gate },
  example: {
    params: { projectId: PROJECT_ID, stepId: gate.stepId },
    body: { minItems: 30, minPassRate: 0.9, maxRegressed: 1, maxUnjudged: 0 },
    answers: { 200: gate },
  },
}).handle(async context => {
  const { params, body, caller, store, act } = context
  requirePerson(caller)
  const project = await selectedProject(context, { projectId: params.projectId })
  return { status: 200, body: toGate(await saveGate(store, act, project, params.stepId, body)) }
})

export const getGate = endpoint({
  family: 'experiment',
  method: 'GET',
  path: '/api/projects/{projectId}/gates/{stepId}',
  summary: "Get a step's gate and check whether a version meets it",
  description:
    "Returns a 404 if the step has no gate. The counts cover the items that the experiment had when it finished, and include later decisions on its results. Items added to the dataset later don't change them.",
  scope: 'read',
  reads: 'primary',
  params,
  query: v.strictObject({
    versionId: v.optional(described(Uuid, "A version of the step's prompt. Default: the active one.")),
  }),
  responses: { 200: GateState },
  example: {
    params: { projectId: PROJECT_ID, stepId: gate.stepId },
    query: { versionId: PROMPT_DRAFT_ID },
    answers: { 200: gateState },
  },
}).handle(async context => {
  const { params, query, store, now } = context
  const project = await selectedProject(context, { projectId: params.projectId })
  const step = { projectKey: project.key, stepId: params.stepId }
  const versionId = query.versionId ?? (await findActiveVersion(store, step))
  const { state } = await readGateState(store, step, versionId, now)
  if (!state) throw notFound('The step has no gate')
  return { status: 200, body: state }
})

export const deleteGate = endpoint({
  family: 'experiment',
  method: 'DELETE',
  path: '/api/projects/{projectId}/gates/{stepId}',
  summary: "Delete a step's gate",
  description: "From then on, any version of the step's prompt can become active. Only people can make this call.",
  scope: 'manage',
  params,
  responses: { 200: v.object({ stepId: v.string() }) },
  example: {
    params: { projectId: PROJECT_ID, stepId: gate.stepId },
    answers: { 200: { stepId: gate.stepId } },
  },
}).handle(async ({ params, caller, store, act }) => {
  requirePerson(caller)
  const project = await findProject(store, { id: params.projectId })
  if (!project) throw notFound()
  requireProject(caller, project.key)
  const found = await findGate(store, { projectKey: project.key, stepId: params.stepId })
  if (!found) throw notFound('The step has no gate')
  await removeGate(store, act, project, found)
  return { status: 200, body: { stepId: found.stepId } }
})
