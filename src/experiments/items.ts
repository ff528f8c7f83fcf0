import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { CURSOR, EXPERIMENT_ID } from '../api/story.ts'
import { Split, toItemHead } from '../datasets/wire.ts'
import { CHANGES } from '../domain/change.ts'
import { ITEM_VERDICTS } from '../domain/experiment.ts'
import { JsonText } from '../domain/json.ts'
import { OUTCOMES } from '../domain/outcome.ts'
import { turnsByLength } from '../domain/turns.ts'
import { described, Uuid } from '../http/atoms.ts'
import { NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { notFound, unavailable } from '../http/errors.ts'
import { MAX_LISTED_ITEMS, MAX_NAME_LENGTH } from '../limits.ts'
import { TrueOrFalse } from '../read/trace-filters.ts'
import type { Store } from '../store/core/store.ts'
import { type DatasetItem, readPage } from '../store/datasets/item-values.ts'
import { findHeads, type HeadPage, type ItemHead, type ItemPlace, walkMatching } from '../store/datasets/items.ts'
import type { ExperimentRecord } from '../store/experiments/experiments.ts'
import {
  findOutcomes,
  findOutputs,
  findResults,
  type ResultFacts,
  type ResultHead,
} from '../store/experiments/results.ts'
import { type FoundProblem, findProblem } from '../store/problems/problem-ids.ts'
import { findProblemItems } from '../store/problems/proof.ts'
import { type ShownValue, showValues } from '../store/traces/payloads.ts'
import { experimentItem } from './examples.ts'
import { type Frame, frameOf, isSelected, RENAMED, requireExperiment } from './frame.ts'
import { outputJudge } from './judge-results.ts'
import { settled } from './tally.ts'
import { ExperimentItem, toResult } from './wire.ts'

const Filters = {
  outcome: v.optional(v.picklist(OUTCOMES)),
  change: v.optional(v.picklist(CHANGES)),
  judgment: v.optional(
    described(
      v.picklist(['same', 'different', 'none']),
      "A model's judgment of the output. none: only items that have a result but no judgment by a model.",
    ),
  ),
  decision: v.optional(described(v.picklist(ITEM_VERDICTS), "A person's decision on the output")),
  pending: v.optional(described(TrueOrFalse, 'true: only items without a result. false: only items with one.')),
  split: v.optional(Split),
  errorType: v.optional(v.pipe(v.string(), v.maxLength(MAX_NAME_LENGTH))),
  itemId: v.optional(described(Uuid, 'Only this item')),
  problemId: v.optional(described(Uuid, 'Only corrections that are cases of this problem and have a result')),
}

type Filter = v.InferOutput<v.StrictObjectSchema<typeof Filters, undefined>>

export const listExperimentItems = endpoint({
  family: 'experiment',
  method: 'GET',
  path: '/api/experiments/{experimentId}/items',
  summary: "List an experiment's items with their results",
  description: `The items are in the same order as in the dataset. A page looks at up to ${MAX_LISTED_ITEMS} items, so it may be short even if more items follow. It holds up to 8 MiB of values, or one item if that item is larger.`,
  scope: 'read',
  params: v.object({ experimentId: Uuid }),
  query: v.strictObject({ ...Filters, ...pageParameters }),
  errors: { 404: 'Not found', 409: RENAMED },
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
  const problem = query.problemId === undefined ? undefined : await findProblem(store, query.problemId)
  if (query.problemId !== undefined && problem?.projectKey !== experiment.projectKey) {
    throw notFound("No problem in the experiment's project has this ID")
  }
  const { items, nextCursor } = await pageOf({
    list: ['experiment-items', store.organization.id, experiment.id],
    query,
    place: ['string', 'number', 'string'],
    read: async (limit, after) => {
      const page = await findMatching(store, experiment, frame, { ...query, problem }, { limit, after })
      const { items, nextPlace } = await readPage(store, frame.dataset, page, 'full')
      return { items: await withResults(store, experiment, items), nextPlace }
    },
  })
  return { status: 200, body: { items, nextCursor } }
})

/** The experiment's next items that match a filter. Looks at a limited number of the dataset's items. */
async function findMatching(
  store: Store,
  experiment: ExperimentRecord,
  { dataset, parts }: Frame,
  filter: Filter & { problem: FoundProblem | undefined },
  { limit, after }: { limit: number; after: ItemPlace | undefined },
): Promise<HeadPage> {
  const findIn = async (items: readonly ItemHead[]) => {
    const own = items.filter(head => isSelected(head, experiment))
    const ids = own.map(({ id }) => id)
    const outcomes = await findOutcomes(store, experiment, ids)
    const found = own.filter(head => matches(head, outcomes.get(head.id), filter))
    if (!filter.problem) return found
    // Only items that production got wrong can belong to a problem.
    const wrong = found.filter(({ id }) => outcomes.get(id)?.wasRight === false)
    const ofProblem = await findProblemItems(store, filter.problem, wrong)
    return wrong.filter(({ id }) => ofProblem.has(id))
  }
  if (filter.itemId !== undefined) {
    const found = await findHeads(store, dataset, parts, [filter.itemId])
    return { heads: await findIn([...found.values()]), nextPlace: null }
  }
  const step = Math.min(MAX_LISTED_ITEMS, 10 * limit)
  return walkMatching(store, dataset, { parts, after, limit, step }, findIn)
}

/** Whether an item with this result, or with no result, matches the filter. */
const matches = (
  head: ItemHead,
  result: ResultFacts | undefined,
  { outcome, change, judgment, decision, pending, split, errorType }: Filter,
): boolean =>
  (outcome === undefined || result?.outcome === outcome) &&
  (change === undefined || result?.change === change) &&
  (judgment === undefined || (result !== undefined && saidBy(result) === judgment)) &&
  (decision === undefined || result?.verdict === decision) &&
  (pending === undefined || (result === undefined) === pending) &&
  (split === undefined || head.split === split) &&
  (errorType === undefined || head.errorType === errorType)

const saidBy = ({ saidSame }: ResultFacts) => (saidSame === null ? 'none' : saidSame ? 'same' : 'different')

/** Items with the candidate's results, and how its outputs differ from the expected ones. */
async function withResults(store: Store, experiment: ExperimentRecord, items: readonly DatasetItem[]) {
  const ids = items.map(({ id }) => id)
  const results = await findResults(store, experiment, ids)
  const outputs = await findOutputs(store, experiment, ids)
  const shown = await showValues(store, [...outputs.values()], 'full')
  // The trace is being purged. A retried request finds the items that are left.
  if (!shown) throw unavailable(1, new Error("the experiment's stored object is missing"))
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
  judgment: null,
  judgmentError: null,
}

const shownResult = (head: ResultHead | undefined) => (head ? toResult(head) : NO_RESULT)
