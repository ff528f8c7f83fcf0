import { defineCommand } from '../command.ts'
import { readPrompts } from '../prompts/folder.ts'
import { folderAt, folderOption, overrideOption, versionOption } from '../prompts/options.ts'
import { activate, chosenVersion, requirePrompt } from '../prompts/remote.ts'

export const activatePrompt = defineCommand({
  name: 'prompts activate',
  summary: 'Put a version into production',
  description: [
    "If the step has a gate that the version doesn't meet, the exit code is 1, and the output says which conditions are unmet. A version that was active before can always become active again.",
  ],
  arguments: { step: { description: 'The step that the prompt belongs to' } },
  options: { ...versionOption, ...overrideOption, ...folderOption },
  examples: [
    ['countersign prompts activate generate-answer', 'Activate the version in the file'],
    ['countersign prompts activate generate-answer --version 3', 'Go back to version 3'],
  ],
  scopes: ['read', 'manage'],
  json: '`{step, versionId, number, isActive}`',
  async run({ out, directory, connect }, { arguments: { step }, options: { version: name, override, folder } }) {
    const needsFile = name === undefined || name === 'local'
    const local = needsFile ? (await readPrompts(folderAt(directory, folder))).get(step) : undefined
    const connection = await connect()
    const prompt = await requirePrompt(connection, step)
    const version = chosenVersion(prompt, name, local)
    if (!version.isActive) await activate(connection, prompt, version.id, override)
    await out.json({ step, versionId: version.id, number: version.number, isActive: true })
    await out.line(`v${version.number} of ${step} is ${version.isActive ? 'already ' : ''}active.`)
    return 'ok'
  },
})
