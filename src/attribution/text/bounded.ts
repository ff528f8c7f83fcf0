import { counted } from '../../domain/counted.ts'
import type { Json, JsonObject } from '../../domain/json.ts'
import type { Step, Subject } from '../../domain/subject.ts'
import {
  MAX_ERROR_PATH_LENGTH,
  MAX_EVIDENCE_CORRECTIONS,
  MAX_EVIDENCE_ITEMS,
  MAX_EVIDENCE_LEAVES,
  MAX_EVIDENCE_PATH_LENGTH,
  MAX_EVIDENCE_RUN_LENGTH,
  MAX_EVIDENCE_VALUE_LEAVES,
} from '../../limits.ts'

/**
 * What a value may still contain: how many scalars, and how much text in their paths. Also tracks whether anything was
 * cut.
 */
interface Budget {
  leaves: number
  path: number
  isCut: boolean
}

// The lookbehind makes a match start at the beginning of a run. Otherwise, each letter of a shorter run would be tried
// as a beginning.
const RUN = new RegExp(`(?<![\\w.+/=-])[\\w.+/=-]{${MAX_EVIDENCE_RUN_LENGTH + 1},}`, 'g')

/** Ligatures that normalize to 18 and 8 letters. A string full of them would grow many times longer. */
const LONG_LIGATURES = /[\ufdfa\ufdfb]/g

/**
 * Shortens long runs that aren't words, such as base64 images, because the patterns for addresses and numbers try a
 * match at each of their letters.
 */
const boundedText = (text: string): string =>
  (text.length <= MAX_EVIDENCE_RUN_LENGTH
    ? text
    : text.replace(RUN, run => run.slice(0, MAX_EVIDENCE_RUN_LENGTH))
  ).replace(LONG_LIGATURES, ' ')

function beginningOf(value: Json, budget: Budget): Json {
  if (typeof value === 'object' && value !== null) {
    return Array.isArray(value) ? itemsOf(value, budget) : fieldsOf(value, budget)
  }
  budget.leaves--
  return typeof value === 'string' ? noteCut(value, boundedText(value), budget) : value
}

function itemsOf(items: Json[], budget: Budget): Json[] {
  const kept: Json[] = []
  for (const item of items) {
    if (kept.length >= MAX_EVIDENCE_ITEMS || budget.leaves <= 0) break
    kept.push(beginningOf(item, budget))
  }
  budget.isCut ||= kept.length < items.length
  return kept.length === items.length && kept.every((item, index) => item === items[index]) ? items : kept
}

function fieldsOf(record: JsonObject, budget: Budget): JsonObject {
  const fields = Object.entries(record)
  const kept: [string, Json][] = []
  for (const [field, value] of fields) {
    if (kept.length >= MAX_EVIDENCE_ITEMS || budget.leaves <= 0) break
    // Each path in a value repeats the names of its parents.
    const name = noteCut(field, field.slice(0, MAX_ERROR_PATH_LENGTH), budget)
    if (name.length > budget.path) continue
    budget.path -= name.length
    kept.push([name, beginningOf(value, budget)])
    budget.path += name.length
  }
  budget.isCut ||= kept.length < fields.length
  const isWhole =
    kept.length === fields.length &&
    kept.every(([field, value], index) => field === fields[index]?.[0] && value === fields[index]?.[1])
  return isWhole ? record : Object.fromEntries(kept)
}

function noteCut(text: string, beginning: string, budget: Budget): string {
  budget.isCut ||= beginning.length < text.length
  return beginning
}

/**
 * Reduces a subject to a size that can be checked in bounded time, because checks compare items and fields in pairs.
 * Also returns a phrase for each part that was left out.
 */
export function boundedSubject(subject: Subject): { subject: Subject; omitted: string[] } {
  const total = { leaves: MAX_EVIDENCE_LEAVES }
  let cuts = 0
  const bounded = <Value extends Json>(value: Value, read: (value: Value, budget: Budget) => Value): Value => {
    const leaves = Math.max(1, Math.min(MAX_EVIDENCE_VALUE_LEAVES, total.leaves))
    const budget = { leaves, path: MAX_EVIDENCE_PATH_LENGTH, isCut: false }
    const beginning = read(value, budget)
    total.leaves -= leaves - budget.leaves
    if (budget.isCut) cuts++
    return beginning
  }
  const concerned = new Set(subject.feedback.map(({ spanId }) => spanId))
  const isFirst = ({ isRoot, review, spanId }: Step) => isRoot || review !== null || concerned.has(spanId)
  const boundedStep = (step: Step): Step => {
    const output = bounded(step.output, beginningOf)
    return {
      ...step,
      input: bounded(step.input, beginningOf),
      output,
      state: bounded(step.state, fieldsOf),
      metadata: bounded(step.metadata, fieldsOf),
      // A truncated output can't be checked against its schema.
      prompt: step.prompt && {
        content: boundedText(step.prompt.content),
        outputSchema: output === step.output ? step.prompt.outputSchema : null,
      },
      review: step.review && { ...step.review, approvedOutput: bounded(step.review.approvedOutput, beginningOf) },
      precedents: step.precedents.map(precedent => ({
        ...precedent,
        approvedOutput: bounded(precedent.approvedOutput, beginningOf),
      })),
    }
  }
  // Bound the disputed parts first, so they keep the most.
  const steps = new Map(
    [...subject.steps.filter(isFirst), ...subject.steps.filter(step => !isFirst(step))].map(step => [
      step,
      boundedStep(step),
    ]),
  )
  const corrections = subject.feedback.filter(({ correction }) => correction !== null)
  const left = new Set(corrections.slice(0, -MAX_EVIDENCE_CORRECTIONS))
  const feedback = subject.feedback
    .filter(each => !left.has(each))
    .map(each => ({
      ...each,
      comment: each.comment === null ? null : boundedText(each.comment),
      correction: each.correction && bounded(each.correction, fieldsOf),
    }))
  return {
    subject: {
      ...subject,
      steps: subject.steps.map(step => steps.get(step) ?? step),
      knowledgeDocs: subject.knowledgeDocs.map(doc => ({ ...doc, content: boundedText(doc.content) })),
      feedback,
    },
    omitted: [
      ...(cuts > 0 ? [`the end of ${counted(cuts, 'long value')}`] : []),
      ...(left.size > 0 ? [`${counted(left.size, 'correction')} (the oldest)`] : []),
    ],
  }
}
