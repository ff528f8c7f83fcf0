import * as v from 'valibot'
import type { Context } from '../api/context.ts'
import type { Contract } from '../api/contract.ts'
import { endpoint } from '../api/endpoint.ts'
import { EXPERIMENT_ID, SPAN_ID } from '../api/story.ts'
import { requirePerson } from '../auth/require-person.ts'
import { changeFrom } from '../domain/change.ts'
import { ITEM_VERDICTS, type ItemVerdict } from '../domain/experiment.ts'
import { newId } from '../domain/ids.ts'
import { described, text, Uuid } from '../http/atoms.ts'
import { notFound, unavailable, unprocessable } from '../http/errors.ts'
import { MAX_COMMENT_LENGTH } from '../limits.ts'
import { actorOf } from '../store/accounts/audit.ts'
import type { Store } from '../store/core/store.ts'
import { addAlternative, endAlternative, hasRoom } from '../store/datasets/changes.ts'
import { findHeads } from '../store/datasets/items.ts'
import { type ExperimentRecord, findExperiment } from '../store/experiments/experiments.ts'
import {
  findCounted,
  findOutputs,
  findResults,
  type ResultHead,
  saveVerdict,
  type VerdictDraft,
} from '../store/experiments/results.ts'
import { fetchValues } from '../store/traces/payloads.ts'
import { reviewedResult } from './examples.ts'
import { frameOf, RENAMED, requireExperiment } from './frame.ts'
import { settled, tallyOf } from './tally.ts'
import { ItemResult, toResult } from './wire.ts'

const TOO_MANY = 'The item already has the maximum number of alternatives'

export const reviewExperimentItem = endpoint({
  family: 'experiment',
  method: 'POST',
  path: '/api/experiments/{experimentId}/items/{itemId}/review',
  summary: "Decide on a candidate's output",
  description:
    "accept: the output passes, and becomes one of the item's alternatives in later experiments. reject: the output fails. Only the latest decision matters. It changes the counts of this experiment, but not those of others. Only people can make this call.",
  scope: 'review',
  params: v.object({ experimentId: Uuid, itemId: Uuid }),
  body: v.strictObject({
    decision: v.picklist(ITEM_VERDICTS),
    comment: v.optional(described(text(1, MAX_COMMENT_LENGTH), 'The reason for the decision')),
  }),
  errors: { 409: RENAMED, 422: TOO_MANY },
  responses: { 200: ItemResult },
  example: {
    params: { experimentId: EXPERIMENT_ID, itemId: SPAN_ID },
    body: { decision: 'accept', comment: 'Says the same thing.' },
    answers: { 200: reviewedResult },
  },
}).handle(async context => {
  const { params, body, caller, store, act, now } = context
  requirePerson(caller)
  const experiment = await requireExperiment(context, params.experimentId)
  const { itemId } = params
  const head = (await findResults(store, experiment, [itemId])).get(itemId)
  if (!head) throw notFound('The experiment has no result for this item')
  if (head.outcome === 'error') throw unprocessable('The item has no output to decide on', 'decision')
  if (body.decision === 'accept') await requireRoom(store, experiment, itemId)
  const outcome = body.decision === 'accept' ? 'passed' : 'failed'
  await storeVerdict(store, experiment, {
    itemId,
    verdict: body.decision,
    comment: body.comment ?? null,
    userId: actorOf(act) ?? '',
    at: now,
    outcome,
    change: changeFrom(head.wasRight, outcome),
  })
  return { status: 200, body: { itemId, ...toResult(await applyVerdict(context, experiment, itemId)) } }
})

/** 422 if an item already has the maximum number of alternatives. */
async function requireRoom(store: Store, experiment: ExperimentRecord, itemId: string): Promise<void> {
  const { dataset } = await frameOf(store, experiment)
  const latest = (await findHeads(store, dataset, dataset.parts, [itemId])).get(itemId)
  if (latest && !hasRoom(latest, experiment.id)) throw unprocessable(TOO_MANY, 'decision')
}

/**
 * Makes an output an alternative for its item if the latest decision accepted it, or else removes the alternative. Then
 * checks again, because somebody else may have decided in the meantime. Returns the result.
 */
async function applyVerdict(context: Reviewing, experiment: ExperimentRecord, itemId: string): Promise<ResultHead> {
  let applied: ItemVerdict | undefined
  for (;;) {
    const result = (await findResults(context.store, experiment, [itemId])).get(itemId)
    if (!result?.verdict) throw notFound()
    const { decision } = result.verdict
    if (decision === applied) return result
    await changeAlternative(context, experiment, itemId, decision === 'accept')
    applied = decision
  }
}

type Reviewing = Pick<Context<Contract & { scope: 'review' }>, 'store' | 'act'>

async function changeAlternative(
  { store, act }: Reviewing,
  experiment: ExperimentRecord,
  itemId: string,
  isAccepted: boolean,
): Promise<void> {
  const { dataset, parts } = await frameOf(store, experiment)
  const then = (await findHeads(store, dataset, parts, [itemId])).get(itemId)
  const latest = (await findHeads(store, dataset, dataset.parts, [itemId])).get(itemId)
  // In this case, a later decision on the span has replaced the approved output that this output was compared with,
  // along with all alternatives to it.
  if (!then || then.valuesSequence !== latest?.valuesSequence) return
  const changed = isAccepted
    ? await addAlternative(store, act, dataset, latest, {
        json: await readOutput(store, experiment, itemId),
        experimentId: experiment.id,
      })
    : await endAlternative(store, act, dataset, itemId, experiment.id)
  if (changed === 'too_many') throw unprocessable(TOO_MANY, 'decision')
  if (changed === 'busy') throw unavailable(1, new Error('other requests kept changing the item'))
}

async function readOutput(store: Store, experiment: ExperimentRecord, itemId: string): Promise<string> {
  const output = (await findOutputs(store, experiment, [itemId])).get(itemId)
  const json = output && (output.ref === null ? output.text : (await fetchValues(store, [output])).get(output))
  if (json === undefined) throw notFound('The output has been deleted')
  return json
}

/**
 * Stores a decision and moves its result in the experiment's counts. Starts over if somebody else changes those counts.
 */
async function storeVerdict(store: Store, { id }: ExperimentRecord, draft: VerdictDraft): Promise<void> {
  for (let losses = 1; ; losses++) {
    const experiment = await findExperiment(store, id)
    if (!experiment) throw notFound()
    // If the experiment has ended, store its tally first.
    if (experiment.state !== 'running' && experiment.tally === null) {
      await settled(store, experiment)
      continue
    }
    const counted = (await findCounted(store, experiment, [draft.itemId])).get(draft.itemId)
    if (!counted) throw notFound()
    const tally = experiment.tally === null ? null : await tallyOf(store, experiment)
    tally?.subtract(counted)
    tally?.add({ ...counted, outcome: draft.outcome, change: draft.change })
    const stored = await saveVerdict(store, experiment, draft, { token: newId(), tally: tally?.toJSON() ?? null })
    if (stored) return
    await store.deadline.giveWay(losses)
  }
}
