import { defineCommand } from '../command.ts'
import { printGate } from '../gate.ts'
import { readPrompts } from '../prompts/folder.ts'
import { folderAt, folderOption, versionOption } from '../prompts/options.ts'
import { chosenVersion, readGate, requirePrompt } from '../prompts/remote.ts'

export const showGates = defineCommand({
  name: 'prompts gate',
  summary: 'Check whether versions meet their gates',
  description: [
    "A gate says what an experiment must show before a version may become active. The exit code is 1 if a gate isn't met. A step without a gate lets every version through.",
  ],
  arguments: {
    step: { description: 'The steps. Default: those that have a file.', isOptional: true, isRepeated: true },
  },
  options: { ...versionOption, ...folderOption },
  examples: [
    ['countersign prompts gate', 'Check the versions in the files'],
    ['countersign prompts gate generate-answer --version latest', 'Check the newest version'],
  ],
  scopes: ['read'],
  json: '`{gates: [{step, versionId, number, met, unmet, gate, experimentId}]}`; `gate` is null if the step has none',
  async run({ out, directory, connect }, { arguments: { step: steps }, options: { version: name, folder } }) {
    const local = await readPrompts(folderAt(directory, folder))
    const connection = await connect()
    const gates = []
    for (const step of steps.length > 0 ? new Set(steps) : local.keys()) {
      const prompt = await requirePrompt(connection, step)
      const { id: versionId, number } = chosenVersion(prompt, name, local.get(step))
      const state = await readGate(connection, step, versionId)
      const { met = true, unmet = [], gate = null, experimentId = null } = state ?? {}
      gates.push({ step, versionId, number, met, unmet, gate, experimentId })
      await out.line(`${step} v${number}`, 'strong')
      await printGate(out, state)
    }
    await out.json({ gates })
    if (gates.length === 0) await out.note('There are no prompts to check. Name a step, or pull the prompts.')
    return gates.every(({ met }) => met) ? 'ok' : 'no'
  },
})
