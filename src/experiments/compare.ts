import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { BASELINE_ID, EXPERIMENT_ID, SPAN_ID } from '../api/story.ts'
import { OUTCOMES, type Outcome } from '../domain/outcome.ts'
import { mcNemarP } from '../domain/statistics.ts'
import { described, Uuid } from '../http/atoms.ts'
import { firstOf, NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { unprocessable } from '../http/errors.ts'
import type { ExperimentRecord } from '../store/experiments/experiments.ts'
import { findOutcomes } from '../store/experiments/results.ts'
import { isOnSameStep, requireExperiment } from './frame.ts'
import { settled } from './tally.ts'

const Comparison = v.object({
  counts: v.object({
    bothPassed: v.number(),
    onlyA: described(v.number(), 'The number of items that passed only in `a`'),
    onlyB: described(v.number(), 'The number of items that passed only in `b`'),
    neither: described(v.number(), 'The number of items that passed in neither. Errors count as not passed.'),
    unjudged: described(
      v.number(),
      "The number of items that are unjudged in `a`, `b`, or both. The other counts don't include them.",
    ),
  }),
  sameItems: described(v.boolean(), 'Whether both experiments have the same version, split, and sample'),
  sameEvaluator: v.boolean(),
  mcNemar: described(
    v.nullable(
      v.object({
        discordant: described(v.number(), 'The number of items that passed in only one of the two experiments'),
        p: described(
          v.nullable(v.number()),
          "The exact two-sided p-value. Null if there are fewer than 6 discordant items, because that's too few to tell.",
        ),
        verdict: v.picklist(['too few to tell', 'different', 'no difference']),
      }),
    ),
    "McNemar's test. Null unless both experiments have the same items and evaluator. The verdict is `different` if `p` is below 0.05.",
  ),
  differences: described(
    v.array(v.object({ itemId: Uuid, a: v.picklist(OUTCOMES), b: v.picklist(OUTCOMES) })),
    'Items whose outcomes differ, sorted by ID',
  ),
  nextCursor: NextCursor,
})

const OTHER_DATASET = 'The experiments are on different datasets'

export const compareExperiments = endpoint({
  family: 'experiment',
  method: 'GET',
  path: '/api/experiments/{a}/compare/{b}',
  summary: 'Compare two experiments on the same dataset',
  description:
    'Covers the items that have a result in both experiments. A finished experiment has a result for each of its items.',
  scope: 'read',
  params: v.object({ a: Uuid, b: Uuid }),
  query: v.strictObject(pageParameters),
  errors: { 422: OTHER_DATASET },
  responses: { 200: Comparison },
  example: {
    params: { a: BASELINE_ID, b: EXPERIMENT_ID },
    answers: {
      200: {
        counts: { bothPassed: 26, onlyA: 1, onlyB: 5, neither: 4, unjudged: 4 },
        sameItems: true,
        sameEvaluator: true,
        mcNemar: { discordant: 6, p: 0.21875, verdict: 'no difference' },
        differences: [{ itemId: SPAN_ID, a: 'failed', b: 'passed' }],
        nextCursor: null,
      },
    },
  },
}).handle(async context => {
  const { params, query, store } = context
  const a = await settled(store, await requireExperiment(context, params.a))
  const b = await settled(store, await requireExperiment(context, params.b))
  if (!isOnSameStep(a, b)) throw unprocessable(OTHER_DATASET, 'b')
  const pairs = pairsOf(await findOutcomes(store, a, undefined), await findOutcomes(store, b, undefined))
  const counts = countPairs(pairs)
  const sameItems = JSON.stringify(itemsOf(a)) === JSON.stringify(itemsOf(b))
  const sameEvaluator = a.evaluator === b.evaluator
  const { items: differences, nextCursor } = await pageOf({
    list: ['comparison', store.organization.id, a.id, b.id],
    query,
    place: ['string'],
    read: async (limit, after) => {
      const left = pairs.filter(pair => pair.a !== pair.b && (after === undefined || pair.itemId > after[0]))
      return firstOf(left, limit, ({ itemId }) => [itemId])
    },
  })
  const mcNemar = sameItems && sameEvaluator ? test(counts) : null
  return { status: 200, body: { counts, sameItems, sameEvaluator, mcNemar, differences, nextCursor } }
})

const itemsOf = ({ version, split, threshold, seed, includesStale }: ExperimentRecord) => [
  version,
  split,
  includesStale,
  // If there's no sample, the seed doesn't matter.
  threshold && [seed, threshold],
]

interface Pair {
  itemId: string
  a: Outcome
  b: Outcome
}

/** The outcomes of each item that has a result in both experiments, sorted by item. */
const pairsOf = (
  first: ReadonlyMap<string, { outcome: Outcome }>,
  second: ReadonlyMap<string, { outcome: Outcome }>,
): Pair[] =>
  [...first.entries()]
    .flatMap(([itemId, { outcome }]) => {
      const other = second.get(itemId)
      return other ? [{ itemId, a: outcome, b: other.outcome }] : []
    })
    .sort((left, right) => (left.itemId < right.itemId ? -1 : 1))

function countPairs(pairs: readonly Pair[]) {
  const counts = { bothPassed: 0, onlyA: 0, onlyB: 0, neither: 0, unjudged: 0 }
  for (const { a, b } of pairs) {
    if (a === 'unjudged' || b === 'unjudged') counts.unjudged++
    else if (a === 'passed') counts[b === 'passed' ? 'bothPassed' : 'onlyA']++
    else counts[b === 'passed' ? 'onlyB' : 'neither']++
  }
  return counts
}

function test({ onlyA, onlyB }: { onlyA: number; onlyB: number }) {
  const p = mcNemarP(onlyA, onlyB)
  const verdict = p === null ? 'too few to tell' : p < 0.05 ? 'different' : 'no difference'
  return { discordant: onlyA + onlyB, p, verdict } as const
}
