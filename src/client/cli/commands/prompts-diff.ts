import { relative } from 'node:path'
import { defineCommand } from '../command.ts'
import { differenceOf, printDifference } from '../prompts/diff.ts'
import { isSame, readPrompts } from '../prompts/folder.ts'
import { folderAt, folderOption, selected } from '../prompts/options.ts'
import { chosenVersion, findPrompt, listPrompts } from '../prompts/remote.ts'

export const diffPrompts = defineCommand({
  name: 'prompts diff',
  summary: 'Compare files with the versions in production',
  description: [
    'Shows what would change if the files became active. The exit code is 1 if anything differs, so a script can check that production matches git.',
  ],
  arguments: { step: { description: 'Only the prompts for these steps', isOptional: true, isRepeated: true } },
  options: {
    ...folderOption,
    version: {
      type: 'text',
      value: 'version',
      description: 'What to compare with: an ID, a number, active, or latest. Default: active.',
    },
  },
  examples: [
    ['countersign prompts diff', 'Compare all files with the active versions'],
    ['countersign prompts diff generate-answer --version 3', 'Compare one file with version 3'],
  ],
  scopes: ['read'],
  json: '`{prompts: [{step, file, versionId, isSame, lines, schema}]}`; `file` or `versionId` is null if only one side exists',
  async run(
    { out, directory, connect },
    { arguments: { step: steps }, options: { folder, version: name = 'active' } },
  ) {
    const local = await readPrompts(folderAt(directory, folder))
    const connection = await connect()
    const prompts = []
    for (const file of selected(local, steps, step => `There is no file for the step ${step}`)) {
      const prompt = await findPrompt(connection, file.stepId)
      const version = prompt && chosenVersion(prompt, name, file)
      prompts.push({
        step: file.stepId,
        file: relative(directory, file.file),
        versionId: version?.id ?? null,
        isSame: version !== undefined && isSame(version, file),
        ...differenceOf(version ?? { content: '', outputSchema: {} }, file),
      })
    }
    const missing = steps.length > 0 ? [] : [...(await listPrompts(connection)).values()]
    for (const { stepId, versionId } of missing.filter(({ stepId }) => !local.has(stepId))) {
      prompts.push({ step: stepId, file: null, versionId, isSame: false, lines: [], schema: [] })
    }
    await out.json({ prompts })
    for (const { step, file, isSame, versionId, ...difference } of prompts.filter(({ isSame }) => !isSame)) {
      const note = versionId === null ? ' (no prompt on the service)' : file === null ? '(no file; pull it)' : ''
      await out.line(`${step}  ${file ?? ''}${note}`, 'strong')
      await printDifference(out, difference)
    }
    const isDifferent = prompts.some(({ isSame }) => !isSame)
    if (!isDifferent) await out.note('No differences.')
    return isDifferent ? 'no' : 'ok'
  },
})
