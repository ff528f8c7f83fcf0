import { defineCommand } from '../command.ts'
import { counted } from '../counted.ts'
import { download } from '../download.ts'
import { traceFilterOptions, traceQuery } from '../trace-filters.ts'

export const exportTraces = defineCommand({
  name: 'traces export',
  summary: 'Export traces, newest first',
  description: [
    "Writes one line per trace, no matter how many there are. With `--output`, the file appears only when it's complete.",
  ],
  arguments: {},
  options: {
    ...traceFilterOptions,
    format: { type: 'choice', choices: ['jsonl', 'csv'], description: 'Default: jsonl.' },
    output: { type: 'text', short: 'o', value: 'file', description: 'The file to write to. Default: stdout.' },
  },
  examples: [
    ['countersign traces export --from 2026-11-01 -o november.jsonl', 'Into a file'],
    ["countersign traces export | jq -r 'select(.costUsd > 0.1) | .traceId'", 'Expensive traces'],
  ],
  scopes: ['read'],
  json: '`{file, items}` with `--output`; otherwise the export itself',
  stopsItself: true,
  async run(context, { options: { format = 'jsonl', output, ...filters } }) {
    const query = traceQuery(filters)
    const connection = await context.connect()
    const projectSlug = await connection.projectSlug()
    const exported = { path: '/api/traces/export', query: { projectSlug, ...query }, format }
    const items = await download(context, connection, exported, output)
    if (output === undefined) return 'ok'
    await context.out.json({ file: output, items })
    await context.out.note(`Exported ${counted(items, 'trace')} to ${output}`)
    return 'ok'
  },
})
