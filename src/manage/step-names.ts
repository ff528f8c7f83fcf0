import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { PROJECT_ID } from '../api/story.ts'
import { requirePerson } from '../auth/require-person.ts'
import { isJsonObject } from '../domain/json.ts'
import { stepNameFaults } from '../domain/step-names.ts'
import { compareCodePoints } from '../domain/text.ts'
import { pathItem, shownAs, Uuid } from '../http/atoms.ts'
import { conflictFields, type ErrorDetail } from '../http/errors.ts'
import { ENVELOPE_BYTES, escaped, MAX_NAME_LENGTH, MAX_STEP_NAMES } from '../limits.ts'
import { selectedProject } from '../read/project.ts'
import { StepNames } from '../read/step-names.ts'
import { type Clash, hasPersonsSettings, type OnePerStep, saveStepNames } from '../store/accounts/step-names.ts'
import { changingTexts } from '../store/texts/near-texts.ts'
import { Name } from './wire.ts'

/** The size of a body with the maximum number of names. Each character of a name may need two escapes. */
const MAX_STEP_NAMES_BYTES = MAX_STEP_NAMES * 2 * escaped(2 * MAX_NAME_LENGTH) + ENVELOPE_BYTES

const Names = v.pipe(
  // Not a `v.record`, which leaves out names like `constructor`.
  shownAs(v.custom<object>(isJsonObject, 'must be an object'), v.record(Name, Name)),
  v.metadata({
    description: `The new names, keyed by the old names; at most ${MAX_STEP_NAMES} entries. A new name can't itself be renamed.`,
  }),
  v.rawTransform(({ dataset, addIssue, NEVER }) => {
    const input = dataset.value
    const refuse = (message: string, key?: string) =>
      addIssue({ message, ...(key !== undefined && { path: [pathItem(key)] }) })
    const entries = Object.entries(input)
    if (entries.length > MAX_STEP_NAMES) {
      refuse(`must have at most ${MAX_STEP_NAMES} names`)
      return NEVER
    }
    const names = new Map<string, string>()
    for (const [oldName, value] of entries) {
      const [old, changed] = [v.safeParse(Name, oldName), v.safeParse(Name, value)]
      for (const { message } of old.issues ?? []) refuse(`the old name ${message}`, oldName)
      for (const issue of changed.issues ?? []) refuse(isText(value) ? issue.message : 'must be a string', oldName)
      if (changed.success) names.set(oldName, changed.output)
    }
    for (const { oldName, message } of stepNameFaults(names)) refuse(message, oldName)
    return names
  }),
)

const isText = (value: unknown): boolean => typeof value === 'string'

const CLASH =
  'Several of these steps have a prompt, a gate, an evaluator, a guideline, or a review policy; keep one of each'

const NOUNS: Readonly<Record<OnePerStep, string>> = {
  prompt: 'a prompt',
  gate: 'a gate',
  evaluator: 'an evaluator',
  guideline: 'a guideline',
  policy: 'a review policy',
}

export const putStepNames = endpoint({
  family: 'manage',
  method: 'PUT',
  path: '/api/projects/{projectId}/step-names',
  summary: "Rename a project's steps",
  description: `Replaces all earlier renames: a step that you leave out goes back to its old name. Spans with an old name are shown under the new one, whether they're already stored or arrive later. Prompts, gates, guidelines, review policies, datasets, and counts move to the new name, and requests accept either name. If several steps get the same name, they become one step. Trace names don't change. If the project has a gate, an evaluator, or a review policy, only people can make this call.`,
  scope: 'manage',
  params: v.object({ projectId: Uuid }),
  body: v.strictObject({ names: Names }),
  maxBytes: MAX_STEP_NAMES_BYTES,
  errors: { 409: CLASH },
  responses: { 200: StepNames },
  example: {
    params: { projectId: PROJECT_ID },
    body: { names: { 'generate-answer': 'answer' } },
    answers: { 200: { names: { 'generate-answer': 'answer' } } },
  },
}).handle(async ({ params, body: { names }, caller, store, act, unscoped }) => {
  const project = await selectedProject({ caller, store, unscoped }, params)
  // Otherwise, an agent could rename a step to escape its gate, or add the outputs of other steps to its dataset.
  if (caller.actsAs !== 'person' && (await hasPersonsSettings(store, project))) requirePerson(caller)
  const clashing = await changingTexts(store, () => saveStepNames(store, act, project, names))
  if (clashing.length > 0) throw conflictFields(CLASH, clashDetails(clashing))
  return { status: 200, body: { names: Object.fromEntries(names) } }
})

/** Describes each conflict at the renamed step that causes it. */
function clashDetails(clashing: readonly Clash[]): ErrorDetail[] {
  const inOrder = clashing.toSorted((left, right) => compareCodePoints(left.name, right.name))
  const groups = Map.groupBy(inOrder, ({ kind, newName }) => `${kind} ${newName}`)
  return inOrder.flatMap(({ kind, name, newName }) => {
    const others = (groups.get(`${kind} ${newName}`) ?? []).flatMap(other =>
      other.name === name ? [] : `"${other.name}"`,
    )
    const message = `has ${NOUNS[kind]}, and so ${others.length > 1 ? 'do' : 'does'} ${others.join(' and ')}`
    return name === newName ? [] : { path: `names.${name}`, message }
  })
}
