import type { TraceDetail } from '../../wire.ts'
import { defineCommand } from '../command.ts'
import type { Output } from '../output.ts'
import { durationText, printSpan } from '../span-text.ts'

export const showTrace = defineCommand({
  name: 'traces show',
  summary: 'Show a trace with its steps, decisions, and feedback',
  description: [
    'Long values are truncated; `--json` and `--full` show them in full.',
    'Traces can contain anything. Characters that a terminal would act on are shown as escapes.',
  ],
  arguments: { trace: { description: 'Its trace_id, or its ID in the app' } },
  options: { full: { type: 'flag', description: 'Show values in full.' } },
  examples: [
    ['countersign traces show trace_first', 'Show a trace'],
    ["countersign traces show trace_first --json | jq '.spans[].output'", 'Only its outputs'],
  ],
  scopes: ['read'],
  json: 'the trace as in `GET /api/traces/{traceId}`, with all spans and all feedback',
  async run({ out, connect }, { arguments: { trace: id }, options: { full } }) {
    const client = await (await connect()).client()
    const trace = await client.traces.get(id)
    const spans: TraceDetail['spans'] = []
    const isComplete = trace.nextSpanCursor === null && trace.spans.every(({ truncated }) => truncated.length === 0)
    if (isComplete) spans.push(...trace.spans)
    else for await (const span of client.traces.spansOf(id)) spans.push(span)
    const feedback = [...trace.feedback]
    for (let cursor = trace.nextFeedbackCursor; cursor !== null; ) {
      const page = await client.traces.get(id, { spanLimit: 1, feedbackCursor: cursor })
      feedback.push(...page.feedback)
      cursor = page.nextFeedbackCursor
    }
    const whole = { ...trace, spans, nextSpanCursor: null, feedback, nextFeedbackCursor: null }
    await out.json(whole)
    if (!out.isJson) await print(out, whole, full)
    return 'ok'
  },
})

async function print(out: Output, trace: TraceDetail, isFull: boolean): Promise<void> {
  const facts = [trace.status, trace.createdAt, durationText(trace.durationMs), trace.model, trace.reviewState]
  await out.line(`${trace.name}  ${trace.traceId}`, 'strong')
  await out.line(facts.filter(fact => fact !== null).join(' · '), 'faint')
  if (Object.keys(trace.metadata).length > 0) await out.line(`metadata: ${JSON.stringify(trace.metadata)}`)
  const depths = depthsOf(trace.spans)
  for (const span of trace.spans) {
    const indent = '  '.repeat(depths.get(span.id) ?? 0)
    await out.line()
    await printSpan(out, span, { isFull, indent })
  }
  for (const { source, rating, content, correction } of trace.feedback) {
    await out.line()
    await out.line(`feedback (${source})${rating === null ? '' : ` ${rating}`}: ${content}`)
    if (correction !== null) await out.line(`  correction: ${JSON.stringify(correction)}`)
  }
}

/** How deeply each span is nested. A parent may come after its children, or be missing. */
function depthsOf(spans: TraceDetail['spans']): Map<string, number> {
  const parents = new Map(spans.map(({ id, parentSpanId }) => [id, parentSpanId]))
  const depths = new Map<string, number>()
  for (const { id } of spans) {
    const path = new Set<string>()
    let at: string | null = id
    while (at !== null && parents.has(at) && !path.has(at) && !depths.has(at)) {
      path.add(at)
      at = parents.get(at) ?? null
    }
    let depth = depths.get(at ?? '') ?? -1
    for (const each of [...path].reverse()) depths.set(each, ++depth)
  }
  return depths
}
