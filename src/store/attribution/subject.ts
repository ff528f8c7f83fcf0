import { counted, formatCount } from '../../domain/counted.ts'
import type { Labeler } from '../../domain/feedback.ts'
import type { Step, Subject, SubjectFeedback } from '../../domain/subject.ts'
import { turnsByLength } from '../../domain/turns.ts'
import { MAX_SUBJECT_BYTES, MAX_SUBJECT_VALUE_BYTES } from '../../limits.ts'
import type { Store } from '../core/store.ts'
import type { FoldedSpan } from '../spans/fold-spans.ts'
import { type SpanDetail, showSpans } from '../spans/span-detail.ts'
import { type FoundValue, lengthOf, readUntilWhole } from '../traces/payloads.ts'
import { readKnowledgeDocs } from './knowledge.ts'
import { type Neighborhood, readNeighborhood } from './neighborhood.ts'
import { chooseSpans, type Outline, omittedFeedback, omittedSpans, readOutline } from './outline.ts'
import { createJsonComparer, findPrecedents, readComparable } from './precedents.ts'

/*
 * Reads the part of a trace that an engine may see. A trace may not fit in an isolate's memory, so one pass finds the
 * spans near the disagreement, and a second one reads their values. The subject lists what was left out.
 */

/**
 * Finds the disagreement on a trace and its context, in three round trips, or four with several databases, plus R2
 * reads for large values. Undefined if there is no such trace.
 */
export const findSubject = (store: Store, traceKey: number): Promise<Subject | undefined> =>
  readUntilWhole(store, () => readSubject(store, traceKey))

async function readSubject(store: Store, traceKey: number) {
  const outline = await readOutline(store, traceKey)
  if (!outline) return undefined
  const { trace } = outline
  const chosen = chooseSpans(outline)
  const omitted = [...omittedFeedback(outline), ...omittedSpans(outline, chosen)]
  const [neighborhood, comparable] = await Promise.all([
    readNeighborhood(store, outline, chosen),
    readComparable(store, outline, new Set(chosen.map(({ stepId }) => stepId)), omitted),
  ])
  const folded = withinBounds(neighborhood.folded, omitted)
  const shown = await showSpans(store, folded, 'full')
  if (!shown) return { traces: [trace], found: undefined }
  const prompts = promptsOf(neighborhood, omitted)
  const root = shown.find(({ id }) => id === trace.rootSpanId)
  const isSame = createJsonComparer()
  const steps: Step[] = []
  const giveTurns = turnsByLength()
  for (const [index, detail] of shown.entries()) {
    await giveTurns(detail.input.text.length + detail.output.text.length)
    const span = folded[index]
    const before = neighborhood.folded[index]
    const isWhole = span?.inputs.length === before?.inputs.length
    steps.push({
      ...stepOf(detail, trace),
      hasOutput: before?.output !== undefined,
      prompt: prompts.get(detail.promptVersionId ?? detail.stepId) ?? null,
      precedents: root && isWhole ? findPrecedents(detail, root, comparable, isSame) : [],
    })
  }
  const knowledgeDocs = await readKnowledgeDocs(store, outline, shown, omitted)
  const found: Subject = {
    receivedAt: trace.receivedAt,
    timestamp: trace.timestamp,
    isCompleted: trace.status === 'completed',
    steps: steps.toSorted(inStepOrder),
    knowledgeDocs,
    feedback: outline.feedback.map(toSubjectFeedback),
    omitted,
  }
  return { traces: [trace], found }
}

/** Drops values that are too large or exceed the total limit. */
function withinBounds(folded: readonly FoldedSpan[], omitted: string[]): FoldedSpan[] {
  let bytes = 0
  let tooLarge = 0
  let tooMany = 0
  const fits = (value: FoundValue): boolean => {
    const length = lengthOf(value)
    if (length > MAX_SUBJECT_VALUE_BYTES) {
      tooLarge++
      return false
    }
    if (value.isCut || bytes + length > MAX_SUBJECT_BYTES) {
      tooMany++
      return false
    }
    bytes += length
    return true
  }
  const bounded = folded.map(span => {
    const { row, inputs, output, state, approved } = span
    const metadata = row.metadata !== null && fits(inlineOf(span, row.metadata)) ? row.metadata : null
    return {
      ...span,
      row: { ...row, metadata },
      // A span's input is complete only if all of its parts fit.
      ...(inputs.every(fits) ? { inputs } : { inputs: [], messageCount: 0 }),
      output: output && fits(output) ? output : undefined,
      state: state.filter(([, value]) => fits(value)),
      approved: approved && fits(approved) ? approved : undefined,
    }
  })
  if (tooLarge > 0)
    omitted.push(`${counted(tooLarge, 'value')} over ${formatCount(MAX_SUBJECT_VALUE_BYTES / 1024)} KiB`)
  if (tooMany > 0) omitted.push(`${counted(tooMany, 'value')} after the first 4 MiB`)
  return bounded
}

const inlineOf = ({ row: { traceKey, isCut } }: FoldedSpan, text: string): FoundValue => ({
  text,
  ref: null,
  folder: traceKey,
  isCut: isCut === 1,
})

/** Prompts by version id or by step. */
function promptsOf({ prompts }: Neighborhood, omitted: string[]): Map<string, Step['prompt']> {
  const whole = new Map<string, Step['prompt']>()
  for (const { name, content, outputSchema } of prompts) {
    if (content === null) continue
    // `{}` means that the prompt has no schema.
    const isSchema = outputSchema !== null && outputSchema !== '{}'
    whole.set(name, { content, outputSchema: isSchema ? JSON.parse(outputSchema) : null })
  }
  const omittedCount = prompts.length - whole.size
  if (omittedCount > 0) omitted.push(`${counted(omittedCount, 'prompt')}, because of the limit on the total size`)
  return whole
}

function stepOf(
  { id, parentId, stepId, timestamp, durationMs, status, input, output, approvedOutput, ...detail }: SpanDetail,
  trace: Outline['trace'],
): Omit<Step, 'hasOutput' | 'prompt' | 'precedents'> {
  const isRoot = id === trace.rootSpanId
  const { review } = detail
  const metadata = JSON.parse(detail.metadata.text)
  const state = Object.entries(detail.state).map(([key, { text }]) => [key, JSON.parse(text)])
  return {
    spanId: id,
    isRoot,
    parentSpanId: parentId,
    stepId,
    timestamp,
    durationMs: isRoot ? (durationMs ?? trace.durationMs) : durationMs,
    status,
    input: JSON.parse(input.text),
    output: JSON.parse(output.text),
    state: Object.fromEntries(state),
    metadata: isRoot ? { ...JSON.parse(trace.metadata), ...metadata } : metadata,
    review: review
      ? {
          state: review.state,
          approvedOutput: JSON.parse(approvedOutput.text),
          userId: review.userId,
          comment: review.comment,
        }
      : null,
  }
}

const inStepOrder = (left: Step, right: Step): number =>
  Number(right.isRoot) - Number(left.isRoot) ||
  left.timestamp - right.timestamp ||
  (left.spanId < right.spanId ? -1 : 1)

const toSubjectFeedback = ({
  spanId,
  userId,
  labeller,
  rating,
  comment,
  correction,
  source,
}: Outline['feedback'][number]): SubjectFeedback => ({
  spanId,
  userId: authorOf(userId, labeller),
  rating,
  comment,
  correction: correction === null ? null : JSON.parse(correction.text),
  source,
})

/**
 * Who gave a piece of feedback. A labeler without an email isn't a user, so their feedback belongs to the key, which
 * may act for many people, or to a reviewer. For such feedback, this returns the labeler's name instead of `userId`.
 */
const authorOf = (userId: string, labeller: Labeler | null): string =>
  labeller?.name && labeller.email === undefined ? `labeler ${labeller.name}` : userId
