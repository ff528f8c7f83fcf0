import type { Json } from '../../domain/json.ts'
import { BYTES_PER_TOKEN, JUDGED_PAGE, MAX_JUDGED_TOKENS } from '../../limits.ts'
import type { Store } from '../../store/core/store.ts'
import { type DatasetItem, readItems } from '../../store/datasets/item-values.ts'
import { findHeads } from '../../store/datasets/items.ts'
import type { ExperimentRecord } from '../../store/experiments/experiments.ts'
import { listWaiting, type Waiting } from '../../store/experiments/judgments.ts'
import { findOutputs } from '../../store/experiments/results.ts'
import { type FoundValue, fetchValues, lengthOf } from '../../store/traces/payloads.ts'
import type { Frame } from '../frame.ts'
import type { Compared } from './question.ts'

/** An unjudged result to ask a model about. */
export interface Subject {
  result: Waiting
  /** Undefined if the outputs are too large for a question. */
  compared: Omit<Compared, 'ignored'> | undefined
}

/**
 * The unjudged results of an experiment that no model has judged since a given time, with the outputs to compare. Reads
 * a page of them at a time, and leaves out items that are being deleted.
 */
export async function* readSubjects(
  store: Store,
  experiment: ExperimentRecord,
  { dataset, parts }: Frame,
  since: number,
): AsyncGenerator<Subject> {
  for (let after = ''; ; ) {
    const page = await listWaiting(store, experiment, { since, after, limit: JUDGED_PAGE })
    const results = new Map(page.map(result => [result.itemId, result]))
    const found = await findHeads(store, dataset, parts, [...results.keys()])
    let heads = [...found.values()]
    while (heads.length > 0) {
      const { items, count } = await readItems(store, dataset, heads, 'full')
      const ids = items.map(({ id }) => id)
      const outputs = await findOutputs(store, experiment, ids)
      for (const item of items) {
        const [result, output] = [results.get(item.id), outputs.get(item.id)]
        if (result && output) yield { result, compared: await compare(store, experiment, item, output) }
      }
      heads = heads.slice(count)
    }
    const last = page.at(-1)
    if (!last || page.length < JUDGED_PAGE) return
    after = last.itemId
  }
}

const MAX_BYTES = MAX_JUDGED_TOKENS * BYTES_PER_TOKEN

async function compare(
  store: Store,
  { stepId }: ExperimentRecord,
  { input, expected, truncated }: DatasetItem,
  output: FoundValue,
): Promise<Subject['compared']> {
  const isCut = truncated.some(field => field.startsWith('expected.'))
  if (isCut || lengthOf(output) + expected.reduce((sum, { text }) => sum + text.length, 0) > MAX_BYTES) return undefined
  const text = output.ref === null ? output.text : (await fetchValues(store, [output])).get(output)
  if (text === undefined) return undefined
  const parse = (json: string): Json => JSON.parse(json)
  return {
    stepId,
    input: parse(input.text),
    expected: expected.map(({ text }) => parse(text)),
    candidate: parse(text),
  }
}
