import { defineCommand } from '../command.ts'
import { counted } from '../counted.ts'
import { findDataset } from '../datasets.ts'
import { download } from '../download.ts'

export const exportDataset = defineCommand({
  name: 'datasets export',
  summary: "Export a step's dataset",
  description: [
    "Writes one line per item. `chat` is for fine-tuning and few-shot prompts: it writes messages, and only for items in the `train` split. All parts of the export come from the same version of the dataset. With `--output`, the file appears only when it's complete.",
  ],
  arguments: { step: { description: 'The step that the dataset belongs to' } },
  options: {
    format: { type: 'choice', choices: ['jsonl', 'csv', 'chat'], description: 'Default: jsonl.' },
    split: { type: 'text', value: 'split', description: 'Only the items in this split, such as test.' },
    version: { type: 'text', value: 'version', description: 'A version of the dataset. Default: the current one.' },
    output: { type: 'text', short: 'o', value: 'file', description: 'The file to write to. Default: stdout.' },
  },
  examples: [
    ['countersign datasets export generate-answer -o answers.jsonl', 'Into a file'],
    ['countersign datasets export generate-answer --format chat -o train.jsonl', 'For fine-tuning'],
  ],
  scopes: ['read'],
  json: '`{file, items}` with `--output`; otherwise the export itself',
  stopsItself: true,
  async run(context, { arguments: { step }, options: { format = 'jsonl', split, version, output } }) {
    const connection = await context.connect()
    const { id } = await findDataset(connection, step)
    const exported = { path: `/api/datasets/${id}/export`, query: { split, version }, format }
    const items = await download(context, connection, exported, output)
    if (output === undefined) return 'ok'
    await context.out.json({ file: output, items })
    await context.out.note(`Exported ${counted(items, 'item')} to ${output}`)
    return 'ok'
  },
})
