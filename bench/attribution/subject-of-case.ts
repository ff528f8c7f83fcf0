import { mergeInputs } from '../../src/domain/fold.ts'
import { isJsonObject, type Json, type JsonObject } from '../../src/domain/json.ts'
import type { Step, Subject } from '../../src/domain/subject.ts'
import type { LabeledCase } from './cases.ts'

const ROOT = 'root'
const REVIEWER = 'reviewer'

/** Builds what engines read about a case. It needs no server, so fitting can read each case hundreds of times. */
export function subjectOfCase({ events, prompts, knowledgeDocs, reviews }: LabeledCase): Subject {
  const bodies = (type: string) => events.filter(event => event.type === type).map(({ body }) => body)
  const traces = bodies('trace')
  const [trace = {}] = traces
  const promptOf = (stepId: string) => {
    const prompt = prompts.find(each => each.stepId === stepId)
    return prompt ? { content: prompt.content, outputSchema: objectOf(prompt.outputSchema) } : null
  }
  const stepOf = (spanId: string, stepId: string, timestamp: number): Step => ({
    spanId,
    isRoot: spanId === ROOT,
    parentSpanId: spanId === ROOT ? null : ROOT,
    stepId,
    timestamp,
    durationMs: null,
    status: null,
    input: null,
    output: null,
    hasOutput: false,
    state: {},
    metadata: {},
    prompt: promptOf(stepId),
    review: null,
    precedents: [],
  })
  const root = stepOf(ROOT, textOf(trace.name), timeOf(trace.timestamp))
  for (const { metadata } of traces) root.metadata = { ...root.metadata, ...objectOf(metadata) }
  const steps = new Map<string, Step>([[ROOT, root]])
  for (const body of bodies('span')) {
    const spanId = textOf(body.span_id)
    const step = steps.get(spanId) ?? stepOf(spanId, textOf(body.step_id), timeOf(body.timestamp))
    steps.set(spanId, step)
    step.parentSpanId = textOf(body.parent_span_id) || ROOT
    if (body.input !== undefined) step.input = body.input
    if (body.output !== undefined) Object.assign(step, { output: body.output, hasOutput: true })
    step.metadata = { ...step.metadata, ...objectOf(body.metadata) }
  }
  const inputs = new Map<Step, Json[]>()
  for (const body of bodies('observation')) {
    const step = steps.get(textOf(body.span_id)) ?? root
    const data = body.data ?? null
    if (body.type === 'input') inputs.set(step, [...(inputs.get(step) ?? []), data])
    else if (body.type === 'output') Object.assign(step, { output: data, hasOutput: true })
    else step.state[textOf(body.key)] = data
  }
  for (const [step, [first = null, ...more]] of inputs)
    step.input = more.length === 0 ? first : (mergeInputs([first, ...more]) ?? null)
  const all = [...steps.values()]
  for (const { step_id, decision, approved_output } of reviews) {
    const step = all.find(({ stepId }) => stepId === step_id)
    if (!step) throw new Error(`There is no step ${step_id} to review`)
    const isAccepted = decision === 'accept'
    const approvedOutput = isAccepted ? step.output : (approved_output ?? null)
    step.review = { state: isAccepted ? 'accepted' : 'corrected', approvedOutput, userId: REVIEWER, comment: null }
  }
  return {
    receivedAt: timeOf(trace.timestamp),
    timestamp: timeOf(trace.timestamp),
    isCompleted: traces.some(({ status }) => status === 'completed'),
    steps: [root, ...all.filter(step => step !== root).sort((left, right) => left.timestamp - right.timestamp)],
    knowledgeDocs,
    feedback: bodies('feedback').map(({ span_id, labeller, rating, comment, correction }) => ({
      spanId: textOf(span_id) || ROOT,
      userId: textOf(objectOf(labeller)?.email ?? null) || REVIEWER,
      rating: typeof rating === 'number' || rating === 'positive' || rating === 'negative' ? rating : null,
      comment: textOf(comment) || null,
      correction: objectOf(correction),
      source: 'api',
    })),
    omitted: [],
  }
}

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
const timeOf = (value: Json | undefined): number => Date.parse(textOf(value))
const objectOf = (value: Json | undefined): JsonObject | null => (isJsonObject(value) ? value : null)
