import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { CURSOR, EXPERIMENT_ID } from '../api/story.ts'
import { Split, toItemHead } from '../datasets/wire.ts'
import { CHANGES } from '../domain/change.ts'
import { JsonText } from '../domain/json.ts'
import { OUTCOMES } from '../domain/outcome.ts'
import { turnsByLength } from '../domain/turns.ts'
import { described, Uuid } from '../http/atoms.ts'
import { NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { unavailable } from '../http/errors.ts'
import { MAX_LISTED_ITEMS, MAX_NAME_LENGTH } from '../limits.ts'
import type { Store } from '../store/core/store.ts'
import { type DatasetItem, readItems } from '../store/datasets/item-values.ts'
import { findHeads, type ItemHead, walkItems } from '../store/datasets/items.ts'
import type { ExperimentRecord } from '../store/experiments/experiments.ts'
import { findOutcomes, findOutputs, findResults, type ResultHead } from '../store/experiments/results.ts'
import { type ShownValue, showValues } from '../store/traces/payloads.ts'
import { experimentItem } from './examples.ts'
import { type Frame, frameOf, isSelected, RENAMED, requireExperiment } from './frame.ts'
import { outputJudge } from './judge-results.ts'
import { settled } from './tally.ts'
import { ExperimentItem, toResult } from './wire.ts'

const Filters = {
  outcome: v.optional(v.picklist(OUTCOMES)),
  change: v.optional(v.picklist(CHANGES)),
  pending: v.optional(
    v.pipe(
      v.picklist(['true', 'false']),
      v.metadata({ description: 'true: only items without a result. false: only items with one.' }),
    ),
  ),
  split: v.optional(Split),
  errorType: v.optional(v.pipe(v.string(), v.maxLength(MAX_NAME_LENGTH))),
  itemId: v.optional(described(Uuid, 'Only this item')),
}

type Filter = v.InferOutput<v.StrictObjectSchema<typeof Filters, undefined>>

export const listExperimentItems = endpoint({
  family: 'experiment',
  method: 'GET',
  path: '/api/experiments/{experimentId}/items',
  summary: "List an experiment's items with their results",
  description: `In the order of the dataset. A page covers up to ${MAX_LISTED_ITEMS} items and may be short. It ends at 8 MiB of values, after at least one item.`,
  scope: 'read',
  params: v.object({ experimentId: Uuid }),
  query: v.strictObject({ ...Filters, ...pageParameters }),
  errors: { 409: RENAMED },
  responses: { 200: v.object({ items: v.array(ExperimentItem), nextCursor: NextCursor }) },
  example: {
    params: { experimentId: EXPERIMENT_ID },
    query: { change: 'fixed' },
    answers: { 200: { items: [experimentItem], nextCursor: CURSOR } },
  },
}).handle(async context => {
  const { params, query, store } = context
  const experiment = await settled(store, await requireExperiment(context, params.experimentId))
  const frame = await frameOf(store, experiment)
  const { items, nextCursor } = await pageOf({
    list: ['experiment-items', store.organization.id, experiment.id],
    query,
    place: ['string', 'number', 'string'],
    read: async (limit, after) => {
      const { heads, nextPlace } = await findMatching(store, experiment, frame, query, { limit, after })
      const { items, count } = await readItems(store, frame.dataset, heads, 'full')
      const last = heads[count - 1]
      const shown = await withResults(store, experiment, items)
      return { items: shown, nextPlace: count < heads.length && last ? last.place : nextPlace }
    },
  })
  return { status: 200, body: { items, nextCursor } }
})

/** The experiment's next items that match a filter. Looks at a limited number of the dataset's items. */
async function findMatching(
  store: Store,
  experiment: ExperimentRecord,
  { dataset, parts }: Frame,
  filter: Filter,
  { limit, after }: { limit: number; after: Readonly<ItemHead['place']> | undefined },
) {
  const findIn = async (items: readonly ItemHead[]) => {
    const own = items.filter(head => isSelected(head, experiment))
    const ids = own.map(({ id }) => id)
    const outcomes = await findOutcomes(store, experiment, ids)
    return own.filter(head => matches(head, outcomes.get(head.id), filter))
  }
  if (filter.itemId !== undefined) {
    const found = await findHeads(store, dataset, parts, [filter.itemId])
    return { heads: await findIn([...found.values()]), nextPlace: null }
  }
  const step = Math.min(MAX_LISTED_ITEMS, 10 * limit)
  const heads: ItemHead[] = []
  let place = after && ([...after] as ItemHead['place'])
  for (let looked = 0; looked < MAX_LISTED_ITEMS; looked += step) {
    const walked = await walkItems(store, dataset, { parts, after: place, limit: step })
    const matching = await findIn(walked.items)
    const last = matching[limit - heads.length - 1]
    heads.push(...matching.slice(0, limit - heads.length))
    if (last) return { heads, nextPlace: last === walked.items.at(-1) ? walked.nextPlace : last.place }
    if (!walked.nextPlace) return { heads, nextPlace: null }
    place = walked.nextPlace
  }
  return { heads, nextPlace: place ?? null }
}

/** Whether an item with this result, or with none, matches. */
const matches = (
  head: ItemHead,
  result: Pick<ResultHead, 'outcome' | 'change'> | undefined,
  { outcome, change, pending, split, errorType }: Filter,
): boolean =>
  (outcome === undefined || result?.outcome === outcome) &&
  (change === undefined || result?.change === change) &&
  (pending === undefined || (result === undefined) === (pending === 'true')) &&
  (split === undefined || head.split === split) &&
  (errorType === undefined || head.errorType === errorType)

/** Items with the candidate's results, and how its outputs differ from what's expected. */
async function withResults(store: Store, experiment: ExperimentRecord, items: readonly DatasetItem[]) {
  const ids = items.map(({ id }) => id)
  const results = await findResults(store, experiment, ids)
  const outputs = await findOutputs(store, experiment, ids)
  const shown = await showValues(store, [...outputs.values()], 'full')
  // The trace is being purged. A retried request finds the items that are left.
  if (!shown) throw unavailable(1, new Error('an object of an experiment is gone'))
  const judgeOutput = outputJudge(experiment)
  const giveTurns = turnsByLength()
  const listed: v.InferOutput<typeof ExperimentItem>[] = []
  for (const item of items) {
    const value = outputs.get(item.id)
    const output = value && shown.get(value)
    await giveTurns(output?.text.length ?? 0)
    const judgment = output?.isWhole ? judgeOutput(output.text, item) : undefined
    listed.push({
      ...toItemHead(item),
      input: item.input,
      state: item.state,
      metadata: item.metadata,
      expected: item.expected,
      recordedOutput: item.output,
      output: new JsonText(output?.text ?? 'null'),
      difference: judgment?.difference ?? [],
      share: judgment?.share ?? null,
      ...shownResult(results.get(item.id)),
      truncated: truncatedIn(item, output),
    })
  }
  return listed
}

const truncatedIn = ({ truncated }: DatasetItem, output: ShownValue | undefined): string[] => [
  ...truncated.map(field => (field === 'output' ? 'recordedOutput' : field)),
  ...(output && !output.isWhole ? ['output'] : []),
]

const NO_RESULT = {
  outcome: null,
  change: null,
  error: null,
  durationMs: null,
  usage: null,
  costUsd: null,
  resultTraceId: null,
  review: null,
}

const shownResult = (head: ResultHead | undefined) => (head ? toResult(head) : NO_RESULT)
