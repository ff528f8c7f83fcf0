import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import { describe } from '../../errors.ts'
import { fieldOf } from '../../service.ts'
import { defineCommand } from '../command.ts'
import type { Connection } from '../connection.ts'
import { counted } from '../counted.ts'
import { detailsIn, invalid } from '../failure.ts'
import { linesOf } from '../lines.ts'
import type { Dataset } from '../wire.ts'

/** The maximum number of items in a call. The service has the same limit. */
const MAX_ITEMS = 200
/** The size at which a call gets no more items. It's far below the service's limit of 8 MiB. */
const BATCH_BYTES = 2 * 1024 ** 2
const MAX_LINE_BYTES = 16 * 1024 ** 2
/** How many rejected lines are described. All rejected lines are counted. */
const MAX_DESCRIBED = 20

export const importDataset = defineCommand({
  name: 'datasets import',
  summary: "Add examples to a step's dataset",
  description: [
    'Reads a file with one example per line: `{"input": …, "expected": …}`, and optionally `id` (a UUID), `state`, and `metadata`. If the step has no dataset, one is created.',
    'If an example has no ID, one is derived from its content, so importing a file again adds nothing. You can also import the output of `datasets export`, but only into a different project: in the project that it came from, its IDs are taken.',
  ],
  arguments: {
    step: { description: 'The step that the dataset belongs to' },
    file: { description: 'The file. `-` is stdin.' },
  },
  options: {},
  examples: [
    ['countersign datasets import generate-answer examples.jsonl', 'Import a file'],
    ['countersign datasets import generate-answer - < examples.jsonl', 'Import from stdin'],
  ],
  scopes: ['review'],
  json: '`{datasetId, created, repeated, refused, errors: [{line, error}]}`; up to 20 errors',
  async run({ out, stdin, directory, connect, signal }, { arguments: { step, file } }) {
    const connection = await connect()
    const body = JSON.stringify({ projectSlug: await connection.projectSlug(), stepId: step })
    const dataset = await connection.call<Dataset>('/api/datasets', 'stepId', { method: 'PUT', body })
    const outcome: Outcome = { created: 0, repeated: 0, refused: 0, errors: [] }
    const ids = new Set<string>()
    let batch: Example[] = []
    let bytes = 0
    const send = async () => {
      if (batch.length > 0) await importBatch(connection, dataset, batch, outcome)
      batch = []
      bytes = 0
      const { created, repeated, refused } = outcome
      await out.progress(`${counted(created + repeated + refused, 'example')} sent`)
    }
    for await (const { line, text } of numbered(
      () => (file === '-' ? stdin : createReadStream(resolve(directory, file))),
      file,
    )) {
      signal.throwIfAborted()
      const example = readExample(dataset, line, text)
      if ('error' in example) {
        refuse(outcome, line, example.error)
        continue
      }
      // The service rejects a call in which two items have the same id.
      if (ids.has(example.id)) {
        outcome.repeated++
        continue
      }
      ids.add(example.id)
      if (batch.length >= MAX_ITEMS || bytes + example.json.length > BATCH_BYTES) await send()
      batch.push(example)
      bytes += example.json.length
    }
    await send()
    const { created, repeated, refused, errors } = outcome
    await out.json({ datasetId: dataset.id, ...outcome })
    await out.line(`${created} created, ${repeated} already there, ${refused} rejected`)
    for (const { line, error } of errors) await out.note(`line ${line}: ${error}`, 'bad')
    return refused > 0 ? 'incomplete' : 'ok'
  },
})

interface Outcome {
  created: number
  repeated: number
  refused: number
  errors: { line: number; error: string }[]
}

interface Example {
  line: number
  id: string
  json: string
}

/**
 * The nonempty lines, with their numbers. Opens the file only when the first line is read, because an earlier error
 * would have no handler.
 */
async function* numbered(open: () => AsyncIterable<Uint8Array | string>, file: string) {
  let line = 0
  try {
    for await (const bytes of linesOf(open(), MAX_LINE_BYTES)) {
      line++
      const text = bytes.toString().trim()
      if (text !== '') yield { line, text }
    }
  } catch (error) {
    if (fieldOf(error, 'syscall') === undefined) throw error
    throw invalid(`${file} can't be read: ${describe(error).message}`)
  }
}

/** A line in the form that the service accepts. */
function readExample(dataset: Dataset, line: number, text: string): Example | { error: string } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { error: `isn't JSON: ${describe(error).message}` }
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { error: "isn't a JSON object" }
  const fields = isExported(value) ? fromExport(value) : { ...value }
  const given = fieldOf(fields, 'id')
  const id = typeof given === 'string' ? given.toLowerCase() : idFor(dataset, fields)
  return { line, id, json: JSON.stringify({ ...fields, id }) }
}

/** Whether a line is an item from `datasets export`. Only such items have both `expected` and `split`. */
const isExported = (value: object): boolean =>
  Array.isArray(fieldOf(value, 'expected')) && fieldOf(value, 'split') !== undefined && 'decision' in value

const fromExport = (item: object) => ({
  id: fieldOf(item, 'id'),
  input: fieldOf(item, 'input'),
  expected: fieldOf(fieldOf(item, 'expected'), '0'),
  state: fieldOf(item, 'state'),
  metadata: fieldOf(item, 'metadata'),
})

/** An id that depends only on the example and its dataset. */
function idFor({ id }: Dataset, fields: object): string {
  const hex = createHash('sha256')
    .update(`${id}\n${JSON.stringify(fields)}`)
    .digest('hex')
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-8$3-a$4-$5')
}

async function importBatch(connection: Connection, { id }: Dataset, batch: readonly Example[], outcome: Outcome) {
  const body = `{"items":[${batch.map(({ json }) => json).join()}]}`
  const path = `/api/datasets/${id}/items`
  const { results } = await connection.call<{ results: { status: number; body: unknown }[] }>(path, 'results', {
    method: 'POST',
    body,
  })
  for (const [index, { line }] of batch.entries()) {
    const { status, body } = results[index] ?? { status: 0, body: undefined }
    if (status === 201) outcome.created++
    else if (status === 200) outcome.repeated++
    else refuse(outcome, line, errorIn(body))
  }
}

/** What's wrong with an example, without its place in the call. */
function errorIn(body: unknown): string {
  const faults = detailsIn(body).map(({ path, message }) =>
    [path.replace(/^items\.\d+\.?/, ''), message].filter(Boolean).join(': '),
  )
  return faults.length > 0 ? faults.join('; ') : String(fieldOf(body, 'error') ?? 'No answer')
}

function refuse(outcome: Outcome, line: number, error: string): void {
  outcome.refused++
  if (outcome.errors.length < MAX_DESCRIBED) outcome.errors.push({ line, error })
}
