import { relative } from 'node:path'
import { CountersignError } from '../../errors.ts'
import { defineCommand } from '../command.ts'
import type { Connection } from '../connection.ts'
import { detailsIn, Failure } from '../failure.ts'
import { type Difference, differenceOf, printDifference } from '../prompts/diff.ts'
import { type LocalPrompt, readPrompts, savePrompt } from '../prompts/folder.ts'
import { folderAt, folderOption, overrideOption, selected } from '../prompts/options.ts'
import { activate, activeVersion, createVersion, findPrompt, type Version, versionWith } from '../prompts/remote.ts'
import type { PromptDetail } from '../wire.ts'

export const pushPrompts = defineCommand({
  name: 'prompts push',
  summary: 'Create versions from files',
  description: [
    "Creates a version of each prompt whose text or schema isn't in any version yet, and writes its ID to the front matter. Nothing changes in production until a version is activated, except that the first version of a new prompt becomes active right away.",
    "If another version has become active since the file was pulled, that's a conflict, and nothing is pushed.",
    'With `--activate`, the versions in the files become active. If a gate blocks that, the exit code is 1, and the output says which conditions are unmet.',
  ],
  arguments: { step: { description: 'Only the prompts for these steps', isOptional: true, isRepeated: true } },
  options: {
    ...folderOption,
    dryRun: { type: 'flag', description: 'Only show what would change.' },
    activate: { type: 'flag', description: 'Activate the versions.' },
    ...overrideOption,
    note: { type: 'text', value: 'text', description: 'The reason for the change, which the app shows.' },
    force: { type: 'flag', description: 'Push even if another version has become active since the pull.' },
  },
  examples: [
    ['countersign prompts push --dry-run', 'See what would change'],
    ['countersign prompts push --note "Cite the doc"', 'Create versions'],
    ['countersign prompts push --activate', 'Create versions and put them into production'],
  ],
  scopes: ['read', 'manage'],
  json: '`{prompts: [{step, file, versionId, number, change, isActive, unmet}]}`; `change` is `created` (a prompt), `pushed` (a version), or `unchanged`; with `--dry-run`, also `lines` and `schema`',
  async run({ out, directory, connect }, { arguments: { step: steps }, options }) {
    const path = folderAt(directory, options.folder)
    const prompts = selected(await readPrompts(path), steps, step => `There is no file for the step ${step}`)
    const connection = await connect()
    const plans: Plan[] = []
    for (const local of prompts) plans.push(await planPush(connection, local, options.activate))
    const conflicts = plans.flatMap(({ local, conflict }) =>
      conflict === undefined ? [] : [{ path: relative(directory, local.file), message: conflict }],
    )
    if (conflicts.length > 0 && !options.force) {
      const hint = 'Pull first, or push anyway with --force.'
      throw new Failure('conflict', 'remote_changed', 'Nothing was pushed', { details: conflicts, hint })
    }
    const done: Pushed[] = []
    for (const plan of plans) {
      const file = relative(directory, plan.local.file)
      if (options.dryRun) {
        const { change, stored, local, difference } = plan
        const [versionId, number] = [stored?.id ?? null, stored?.number ?? null]
        const isActive = change === 'created' || (stored?.isActive ?? false)
        done.push({ step: local.stepId, file, versionId, number, change, isActive, unmet: [], ...difference })
        await out.line(`${MEANING[change]}  ${file}  ${local.stepId}`, change === 'unchanged' ? 'faint' : 'strong')
        if (change !== 'unchanged') await printDifference(out, difference)
      } else {
        const pushed = { ...(await push(connection, path, plan, options)), file }
        done.push(pushed)
        const { step, number, change, isActive, unmet } = pushed
        await out.line(`${change.padEnd(9)}  ${file}  ${step}  v${number}${isActive ? ', active' : ''}`)
        for (const { path, message } of unmet) await out.line(`           gate: ${path} ${message}`, 'bad')
      }
    }
    if (done.length === 0) await out.note(`There are no prompts in ${relative(directory, path) || '.'}.`)
    await out.json({ prompts: done })
    const isRefused = done.some(({ unmet }) => unmet.length > 0)
    if (isRefused)
      await out.note('The gate keeps these versions from becoming active. --override "<reason>" activates them anyway.')
    return isRefused ? 'no' : 'ok'
  },
})

const MEANING = { created: 'new prompt ', pushed: 'new version', unchanged: 'unchanged  ' } as const

interface Plan {
  local: LocalPrompt
  /** Undefined if the step has no prompt. */
  prompt: PromptDetail | undefined
  change: 'created' | 'pushed' | 'unchanged'
  /** The version that has the file's text. */
  stored: Version | undefined
  /** Why the push might undo somebody else's work. */
  conflict: string | undefined
  difference: Difference
}

interface Pushed extends Partial<Difference> {
  step: string
  file: string
  versionId: string | null
  number: number | null
  change: Plan['change']
  isActive: boolean
  /** The conditions of the gate that keep the version from becoming active. */
  unmet: { path: string; message: string }[]
}

async function planPush(connection: Connection, local: LocalPrompt, willActivate: boolean): Promise<Plan> {
  const prompt = await findPrompt(connection, local.stepId)
  if (!prompt) {
    const conflict = local.versionId === undefined ? undefined : 'its prompt was deleted, or belongs to another project'
    const difference = differenceOf({ content: '', outputSchema: {} }, local)
    return { local, prompt, change: 'created', stored: undefined, conflict, difference }
  }
  const stored = versionWith(prompt, local)
  const hasEffect = !stored || (willActivate && !stored.isActive)
  return {
    local,
    prompt,
    change: stored ? 'unchanged' : 'pushed',
    stored,
    conflict: hasEffect ? conflictOf(prompt, local) : undefined,
    difference: differenceOf(activeVersion(prompt), local),
  }
}

/** Why the file may be based on something other than what's in production now. */
function conflictOf(prompt: PromptDetail, { versionId }: LocalPrompt): string | undefined {
  const active = activeVersion(prompt)
  if (versionId === undefined) return `the step already has a prompt: v${active.number} is active`
  const base = prompt.versions.find(({ id }) => id === versionId)
  if (!base) return "its front matter names a version that this prompt doesn't have"
  // If the base is a draft that's newer than the active version, it was pushed from this file, and isn't active yet.
  const isDraft = base.number > active.number && !base.wasActive
  return base.isActive || isDraft ? undefined : `v${active.number} is active, but the file is based on v${base.number}`
}

interface PushOptions {
  activate: boolean
  override: string | undefined
  note: string | undefined
}

async function push(
  connection: Connection,
  folder: string,
  { local, prompt: found, stored, change }: Plan,
  { activate: willActivate, override, note }: PushOptions,
): Promise<Omit<Pushed, 'file'>> {
  const { stepId, content, outputSchema } = local
  const { prompt, version, isNew } =
    found && stored
      ? { prompt: found, version: stored, isNew: false }
      : await createVersion(connection, stepId, local, note, override)
  if (version.id !== local.versionId)
    await savePrompt(folder, local, { stepId, versionId: version.id, content, outputSchema })
  const pushed = {
    step: stepId,
    versionId: version.id,
    number: version.number,
    // Somebody else may have stored the same version in the meantime.
    change: isNew ? change : 'unchanged',
  } as const
  if (version.isActive || !willActivate) return { ...pushed, isActive: version.isActive, unmet: [] }
  try {
    await activate(connection, prompt, version.id, override)
    return { ...pushed, isActive: true, unmet: [] }
  } catch (error) {
    if (!(error instanceof CountersignError) || error.code !== 'gate_not_met') throw error
    return { ...pushed, isActive: false, unmet: detailsIn(error.body) }
  }
}
