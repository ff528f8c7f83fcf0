import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { CORRECTION, EXPERIMENT_ID, SPAN_ID } from '../api/story.ts'
import { experimentState } from '../domain/experiment.ts'
import { newId } from '../domain/ids.ts'
import { turnsByLength } from '../domain/turns.ts'
import { described, jsonPayload, object, shownAs, text, Uuid, wholeNumber } from '../http/atoms.ts'
import { badRequest, conflict } from '../http/errors.ts'
import { BatchResult, Results } from '../http/results.ts'
import { parse } from '../http/validation.ts'
import {
  MAX_BATCH_BYTES,
  MAX_COMMENT_LENGTH,
  MAX_COST_USD,
  MAX_NAME_LENGTH,
  MAX_RESULTS,
  MAX_TOKENS,
} from '../limits.ts'
import { findResults, type ResultHead } from '../store/experiments/results.ts'
import { result } from './examples.ts'
import { RENAMED, requireExperiment } from './frame.ts'
import { sendJudging } from './judge/hint.ts'
import type { SentResult } from './judge-results.ts'
import { hashResult, storeResults } from './store-results.ts'
import { settled } from './tally.ts'
import { toResult } from './wire.ts'

const TOO_LARGE = 'Output too large'

const Tokens = wholeNumber(0, MAX_TOKENS)

const NewResult = object(
  v.strictObject({
    itemId: Uuid,
    output: v.optional(jsonPayload(TOO_LARGE)),
    error: v.optional(described(text(1, MAX_COMMENT_LENGTH), 'Why there is no output. Send either this or `output`.')),
    durationMs: v.optional(wholeNumber(0)),
    usage: v.optional(
      object(
        v.strictObject({
          inputTokens: Tokens,
          outputTokens: Tokens,
          totalTokens: v.optional(described(Tokens, 'Default: the sum of the two')),
        }),
      ),
    ),
    costUsd: v.optional(v.pipe(v.number(), v.minValue(0, 'must be at least 0'), v.maxValue(MAX_COST_USD))),
    traceId: v.optional(described(text(1, MAX_NAME_LENGTH), "The candidate's own trace, for your own records")),
  }),
)

const RUN_BY_MODEL = 'The model runs this experiment, so it accepts no results from clients'
const ENDED = 'The experiment has ended and accepts no more results'

export const postResults = endpoint({
  family: 'experiment',
  method: 'POST',
  path: '/api/experiments/{experimentId}/results',
  summary: "Send an experiment's results",
  description:
    "Each result gets its own status: 201 if it's new, or 200 if it was sent before or replaces an error. An item keeps its first output: sending a different one gets a 409. The experiment finishes when every item has an output.",
  scope: ['review', 'manage'],
  params: v.object({ experimentId: Uuid }),
  body: v.strictObject({
    results: v.pipe(
      shownAs(v.array(v.unknown()), v.array(NewResult)),
      v.maxLength(MAX_RESULTS, `must have at most ${MAX_RESULTS} results`),
    ),
  }),
  maxBytes: MAX_BATCH_BYTES,
  errors: { 409: `${RENAMED} / ${RUN_BY_MODEL}` },
  responses: { 207: v.object({ results: v.array(BatchResult) }) },
  example: {
    params: { experimentId: EXPERIMENT_ID },
    body: {
      results: [
        {
          itemId: SPAN_ID,
          output: CORRECTION,
          durationMs: 1040,
          usage: { inputTokens: 412, outputTokens: 36 },
        },
      ],
    },
    answers: { 207: { results: [{ status: 201, body: result }] } },
  },
}).handle(async context => {
  const { params, body, store, now, requestId } = context
  const experiment = await settled(store, await requireExperiment(context, params.experimentId))
  const results = new Results(requestId)
  if (experiment.runner === 'model') throw conflict(RUN_BY_MODEL, '')
  const sent = await readSent(body.results, results)
  const before = await findResults(
    store,
    experiment,
    sent.map(({ itemId }) => itemId),
  )
  const isRunning = experimentState(experiment, now) === 'running'
  const added = isRunning ? sent.filter(one => isWanted(one, before.get(one.itemId))) : []
  const token = newId()
  const { after, latest } =
    added.length === 0
      ? { after: before, latest: undefined }
      : await storeResults(store, experiment, added, results, { token, now })
  if (latest) sendJudging(context, latest)
  for (const one of sent) {
    if (results.has(one.index)) continue
    results.settle(one.index, `results.${one.index}`, () => {
      const stored = after.get(one.itemId) ?? before.get(one.itemId)
      if (!stored || (stored.outcome === 'error' && stored.contentHash !== one.contentHash)) throw conflict(ENDED, '')
      if (stored.contentHash !== one.contentHash) throw conflict('The item already has a different output', 'output')
      const isNew = stored.writtenBy === token && !before.has(one.itemId)
      return { status: isNew ? 201 : 200, body: { itemId: one.itemId, ...toResult(stored) } }
    })
  }
  return { status: 207, body: { results: results.inOrder() } }
})

/** Whether a result is new: the item has no result, or a different error. */
const isWanted = (sent: SentResult, stored: ResultHead | undefined): boolean =>
  !stored || (stored.outcome === 'error' && stored.contentHash !== sent.contentHash)

/** Parses the results in a request. Errors in individual results go to `results`. */
async function readSent(inputs: readonly unknown[], results: Results): Promise<SentResult[]> {
  const itemIds = new Set<string>()
  const parsed = inputs.flatMap((input, index) =>
    results.take(index, `results.${index}`, () => {
      const sent = parse(NewResult, input)
      if ((sent.output === undefined) === (sent.error === undefined)) {
        throw badRequest('Either `output` or `error` is required', 'output')
      }
      if (itemIds.has(sent.itemId)) throw badRequest('appears in an earlier result in this call', 'itemId')
      itemIds.add(sent.itemId)
      return { ...sent, index, output: sent.output ?? null, error: sent.error ?? null }
    }),
  )
  const giveTurns = turnsByLength()
  const hashed: SentResult[] = []
  for (const sent of parsed) {
    await giveTurns(sent.output?.length ?? 0)
    hashed.push({ ...sent, contentHash: await hashResult(sent) })
  }
  return hashed
}
