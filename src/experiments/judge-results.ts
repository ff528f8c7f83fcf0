import { changeFrom, recordedRightness, rightness } from '../domain/change.ts'
import { Enumerated } from '../domain/enumerated.ts'
import type { Evaluator } from '../domain/evaluator.ts'
import { type Judgment, judge } from '../domain/outcome.ts'
import { turnsByLength } from '../domain/turns.ts'
import { notFound, tooLarge } from '../http/errors.ts'
import type { Results } from '../http/results.ts'
import { MAX_JUDGED_BYTES } from '../limits.ts'
import type { Store } from '../store/core/store.ts'
import { type DatasetItem, readItems } from '../store/datasets/item-values.ts'
import { findHeads, type ItemHead } from '../store/datasets/items.ts'
import { type ExperimentRecord, findExperiment } from '../store/experiments/experiments.ts'
import { findOutcomes, folderOf, type ResultDraft } from '../store/experiments/results.ts'
import { placeUnder } from '../store/traces/payloads.ts'
import { frameOf, isSelected } from './frame.ts'

/** A result as sent in a request. */
export interface SentResult {
  index: number
  itemId: string
  /** JSON. Null for an error. */
  output: string | null
  error: string | null
  contentHash: string
  durationMs?: number | undefined
  usage?: { inputTokens: number; outputTokens: number; totalTokens?: number | undefined } | undefined
  costUsd?: number | undefined
  traceId?: string | undefined
}

/** A judged result, ready to be stored. */
interface Judged {
  index: number
  head: ItemHead
  draft: ResultDraft
}

/**
 * Judges results against their items as of the experiment's version, and puts large outputs into R2. Keeps only one
 * page of items in memory at a time. Errors in individual results are added to `results`: 404 for an item that the
 * experiment doesn't have, 413 if too many values had to be read.
 */
export async function judgeResults(
  store: Store,
  experiment: ExperimentRecord,
  sent: readonly SentResult[],
  results: Results,
): Promise<Judged[]> {
  const frame = await frameOf(store, experiment)
  const itemIds = sent.map(({ itemId }) => itemId)
  const heads = await findHeads(store, frame.dataset, frame.parts, itemIds)
  const known = sent.flatMap(one =>
    results.take(one.index, `results.${one.index}`, () => {
      const head = heads.get(one.itemId)
      if (!head || !isSelected(head, experiment)) throw notFound('The experiment has no such item')
      return { ...one, head }
    }),
  )
  const wasRight = await findBaseline(
    store,
    experiment,
    known.map(({ head }) => head),
  )
  const judgeOutput = outputJudge(experiment)
  const giveTurns = turnsByLength()
  const judged: { one: (typeof known)[number]; judgment: Judgment | undefined }[] = []
  const take = (one: (typeof known)[number], judgmentOf: () => Judgment | undefined) => {
    judged.push(...results.take(one.index, `results.${one.index}`, () => ({ one, judgment: judgmentOf() })))
  }
  for (const one of known) if (one.output === null) take(one, () => undefined)
  let left = known.filter(({ output }) => output !== null)
  let bytes = 0
  while (left.length > 0 && bytes < MAX_JUDGED_BYTES) {
    const page = await readItems(
      store,
      frame.dataset,
      left.map(({ head }) => head),
      'full',
    )
    const items = new Map(page.items.map(item => [item.id, item]))
    for (const one of left.slice(0, page.count)) {
      const item = items.get(one.head.id)
      const length = lengthOf(item)
      bytes += length
      await giveTurns(length + (one.output?.length ?? 0))
      take(one, () => {
        if (!item) throw notFound('The item has been deleted')
        return judgeOutput(one.output ?? 'null', item)
      })
    }
    left = left.slice(page.count)
  }
  for (const one of left) {
    take(one, () => {
      throw tooLarge('The items in this call are too large in total; send the rest in another call')
    })
  }
  const values = judged.flatMap(({ one: { output, head } }) =>
    // Each item has a folder of its own, so that its outputs can be deleted separately.
    output === null ? [] : [{ folder: `${folderOf(experiment)}/${head.id}` as const, json: output, id: head.id }],
  )
  const placed = new Map([...(await placeUnder(store, values))].map(([{ id }, value]) => [id, value]))
  return judged.map(({ one, judgment }) => {
    const { head, usage } = one
    const outcome = judgment?.outcome ?? 'error'
    const isRight = wasRight.get(head.id) ?? null
    const draft: ResultDraft = {
      itemId: head.id,
      traceKey: head.place[1],
      outcome,
      change: changeFrom(isRight, outcome),
      split: head.split,
      errorType: head.errorType,
      wasRight: isRight,
      durationMs: one.durationMs ?? null,
      usage: usage ? { ...usage, totalTokens: usage.totalTokens ?? usage.inputTokens + usage.outputTokens } : null,
      costUsd: one.costUsd ?? null,
      traceId: one.traceId ?? null,
      contentHash: one.contentHash,
      fields: judgment?.fields ?? [],
      error: one.error,
      output: placed.get(head.id) ?? null,
    }
    return { index: one.index, head, draft }
  })
}

/** Returns a function that judges an output of an experiment, given as JSON. */
export function outputJudge({ evaluator: evaluatorJson, outputSchema }: ExperimentRecord) {
  const evaluator: Evaluator = JSON.parse(evaluatorJson)
  const schema = outputSchema === null ? undefined : Enumerated.by(JSON.parse(outputSchema))
  return (output: string, { expected, truncated }: DatasetItem): Judgment => {
    const whole = expected.filter((_, index) => !truncated.includes(`expected.${index}`))
    if (whole.length === 0) return UNREADABLE
    return judge(
      JSON.parse(output),
      whole.map(({ text }) => JSON.parse(text)),
      { evaluator, schema },
    )
  }
}

/** The judgment for an item whose expected values are all too large to read. */
const UNREADABLE: Judgment = { outcome: 'unjudged', difference: [], fields: [], share: 0 }

/** Whether the baseline is right about each item. Null or missing if that's unknown. */
async function findBaseline(
  store: Store,
  { baselineId }: ExperimentRecord,
  heads: readonly ItemHead[],
): Promise<Map<string, boolean | null>> {
  if (baselineId === null) return new Map(heads.map(({ id, decision }) => [id, recordedRightness(decision)]))
  const baseline = await findExperiment(store, baselineId)
  if (!baseline) return new Map()
  const outcomes = await findOutcomes(
    store,
    baseline,
    heads.map(({ id }) => id),
  )
  return new Map([...outcomes].map(([id, { outcome }]) => [id, rightness(outcome)]))
}

/** How many characters of an item were read. */
const lengthOf = (item: DatasetItem | undefined): number =>
  item === undefined ? 0 : [item.input, item.output, ...item.expected].reduce((sum, { text }) => sum + text.length, 0)
