import { call, Fault } from '../api/client.ts'
import { count } from '../parts/format.ts'
import type { ExampleFault, NewExample } from './examples.ts'

/** The limits for the examples in one call. They leave room for the rest of the body. */
const MAX_EXAMPLES = 200
const MAX_LENGTH = 2_000_000

interface Result {
  status: number
  body: { error?: string; details?: { path: string; message: string }[] }
}

/**
 * Imports examples, a batch at a time. `idFor` gives an example the same ID each time, so that sending the example
 * again adds nothing. Throws a `Fault` that lists the examples that the service rejected.
 */
export async function sendExamples(
  datasetId: string,
  examples: readonly NewExample[],
  idFor: (example: NewExample) => string,
): Promise<number> {
  const rejected: ExampleFault[] = []
  for (const batch of batchesOf(examples)) {
    const items = batch.map(example => ({ id: idFor(example), ...example.value }))
    const { results } = await call<{ results: Result[] }>(`/api/datasets/${datasetId}/items`, {
      method: 'POST',
      body: { items },
    })
    rejected.push(...results.flatMap((result, index) => faultsOf(result, index, batch[index]?.place ?? '')))
  }
  if (rejected.length === 0) return examples.length
  const places = new Set(rejected.map(({ place }) => place)).size
  throw new Fault(refusal(places, examples.length), {
    status: 207,
    code: 'rejected',
    details: rejected.map(({ place, field, message }) => ({ path: `${place}${field && `, ${field}`}`, message })),
    requestId: '',
  })
}

function faultsOf(
  { status, body: { error = '', details = [] } }: Result,
  index: number,
  place: string,
): ExampleFault[] {
  if (status < 300) return []
  if (details.length === 0) return [{ place, field: '', message: error }]
  const own = `items.${index}`
  return details.map(({ path, message }) => ({
    place,
    field: path.startsWith(`${own}.`) ? path.slice(own.length + 1) : '',
    message,
  }))
}

function batchesOf(examples: readonly NewExample[]): NewExample[][] {
  const batches: NewExample[][] = []
  let length = Number.POSITIVE_INFINITY
  for (const example of examples) {
    const added = JSON.stringify(example.value).length
    const last = batches.at(-1)
    if (!last || last.length === MAX_EXAMPLES || length + added > MAX_LENGTH) {
      batches.push([example])
      length = added
    } else {
      last.push(example)
      length += added
    }
  }
  return batches
}

/** Says how many of the examples couldn't be imported. */
function refusal(rejected: number, sent: number): string {
  if (rejected < sent)
    return `${count(rejected)} of ${count(sent)} examples couldn't be imported. The rest were imported.`
  return sent === 1 ? "The example couldn't be imported." : `None of the ${count(sent)} examples could be imported.`
}
