import { relative } from 'node:path'
import type { Prompt } from '../../wire.ts'
import { defineCommand } from '../command.ts'
import type { Connection } from '../connection.ts'
import { Failure } from '../failure.ts'
import { type Content, isSame, type LocalPrompt, readPrompts, savePrompt } from '../prompts/folder.ts'
import { folderAt, folderOption, selected } from '../prompts/options.ts'
import { activeVersion, listPrompts, readPrompt, versionWith } from '../prompts/remote.ts'

export const pullPrompts = defineCommand({
  name: 'prompts pull',
  summary: 'Write prompts to files',
  description: [
    "Writes each step's active version to `prompts/<step>.md`, and its output schema to `prompts/<step>.schema.json`. Everything after the front matter is the prompt, byte for byte: no newlines are added or removed. So keep your editor and git from changing them, for example with `prompts/** -text` in `.gitattributes`.",
    "A file with edits that aren't in any version is a conflict, and nothing is written. A file that was pushed and is newer than the active version stays as it is.",
  ],
  arguments: { step: { description: 'Only the prompts for these steps', isOptional: true, isRepeated: true } },
  options: {
    ...folderOption,
    latest: { type: 'flag', description: 'Write the newest version instead of the active one.' },
    force: { type: 'flag', description: 'Overwrite local edits.' },
  },
  examples: [
    ['countersign prompts pull', 'Write all prompts'],
    ['countersign prompts pull generate-answer --latest', 'Write the newest version of one prompt'],
  ],
  scopes: ['read'],
  json: '`{prompts: [{step, file, versionId, change}]}`; `change` is `created`, `updated`, `unchanged`, or `kept`',
  async run({ out, directory, connect }, { arguments: { step: steps }, options: { folder, latest, force } }) {
    const path = folderAt(directory, folder)
    const local = await readPrompts(path)
    const connection = await connect()
    const remote = await listPrompts(connection)
    const prompts = selected(remote, steps, step => `The step ${step} has no prompt`)
    const plans = []
    for (const prompt of prompts) {
      plans.push(await planPull(connection, prompt, local.get(prompt.stepId), { isLatest: latest, isForced: force }))
    }
    const edited = plans.flatMap(({ change, local }) => (change === 'conflict' && local ? [local] : []))
    if (edited.length > 0) {
      throw new Failure('conflict', 'local_edits', 'Local edits would be lost, so nothing was written', {
        details: edited.map(({ file, stepId }) => ({
          path: relative(directory, file),
          message: `${stepId} has edits that aren't in any version`,
        })),
        hint: 'Push them, or overwrite them with --force.',
      })
    }
    const done = []
    for (const { stepId, versionId, change, text, local } of plans) {
      const file =
        local && change !== 'updated' ? local.file : await savePrompt(path, local, { stepId, versionId, ...text })
      done.push({ step: stepId, file: relative(directory, file), versionId, change })
    }
    await out.json({ prompts: done })
    for (const { step, file, change } of done) await out.line(`${change.padEnd(9)}  ${file}  ${step}`)
    const isGone = [...local.values()].filter(({ stepId }) => steps.length === 0 && !remote.has(stepId))
    for (const { file, stepId } of isGone) {
      await out.note(`${relative(directory, file)} is for ${stepId}, which has no prompt. Push it, or delete the file.`)
    }
    return 'ok'
  },
})

interface Plan {
  stepId: string
  versionId: string
  text: Content
  change: 'created' | 'updated' | 'unchanged' | 'kept' | 'conflict'
  local: LocalPrompt | undefined
}

async function planPull(
  connection: Connection,
  prompt: Prompt,
  local: LocalPrompt | undefined,
  { isLatest, isForced }: { isLatest: boolean; isForced: boolean },
): Promise<Plan> {
  const { stepId } = prompt
  const latest = isLatest ? (await readPrompt(connection, prompt.id)).versions.at(-1) : undefined
  const { content, outputSchema } = latest ?? prompt
  const text = { content, outputSchema }
  const plan = { stepId, versionId: latest?.id ?? prompt.versionId, text, local }
  if (!local) return { ...plan, change: 'created' }
  if (isSame(local, text)) return { ...plan, change: local.versionId === plan.versionId ? 'unchanged' : 'updated' }
  if (isForced) return { ...plan, change: 'updated' }
  const detail = await readPrompt(connection, prompt.id)
  const stored = versionWith(detail, local)
  if (!stored) return { ...plan, change: 'conflict' }
  const isAhead = !isLatest && !stored.wasActive && stored.number > activeVersion(detail).number
  return isAhead ? { ...plan, versionId: stored.id, change: 'kept' } : { ...plan, change: 'updated' }
}
