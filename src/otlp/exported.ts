import { contentName } from '../domain/hash.ts'
import { exportedSpanUuid, rootSpanUuid, traceUuid } from '../domain/ids.ts'
import type { ExportedSpan, ExportedTrace } from '../store/exports.ts'
import type { Project } from '../store/projects.ts'
import { stepOf, traceIdOf } from './map.ts'
import { isRootOf, type ReadSpan, type SpanStep } from './span-step.ts'
import { orderedTimeOf, type TelemetrySpan } from './telemetry.ts'
import { factsOf } from './trace-facts.ts'

/** The spans of a trace, by the trace's client-side id. */
export function readSpans(spans: readonly TelemetrySpan[]): Map<string, ReadSpan[]> {
  return Map.groupBy(
    spans.map(span => ({ span, step: stepOf(span) })),
    ({ span }) => traceIdOf(span),
  )
}

/** The spans of one trace as the store takes them. */
export async function exportedTrace(
  project: Project,
  traceId: string,
  spans: readonly ReadSpan[],
): Promise<ExportedTrace> {
  const facts = factsOf(spans)
  const [id, rootSpanId, ...exported] = await Promise.all([
    traceUuid(project.id, traceId),
    rootSpanUuid(project.id, traceId),
    ...spans.filter(({ step }) => !step.isPending).map(read => exportedSpan(project, read)),
  ])
  const root = facts.root && { ...facts.root, value: await uuidOf(project, facts.root.value) }
  return { id, traceId, rootSpanId, facts: { ...facts, root }, spans: latestOf(exported) }
}

/** Of several exports of one span those that count, as the store has it. */
function latestOf(spans: readonly ExportedSpan[]): ExportedSpan[] {
  const latest = new Map<string, ExportedSpan>()
  for (const span of spans) {
    const before = latest.get(span.id)
    if (!before || before.exportRevision < span.exportRevision) latest.set(span.id, span)
  }
  return [...latest.values()]
}

/** The read interface's id of a span. */
export const uuidOf = ({ id }: Project, { traceId, spanId }: Pick<TelemetrySpan, 'traceId' | 'spanId'>) =>
  exportedSpanUuid(id, traceId, spanId)

async function exportedSpan(project: Project, read: ReadSpan): Promise<ExportedSpan> {
  const { span, step } = read
  const { traceId, parentSpanId, startNs, endNs } = span
  const ofTrace = isRootOf(read) ? step.trace : undefined
  const input = jsonOf(step.input ?? ofTrace?.input)
  const output = jsonOf(step.output ?? ofTrace?.output)
  const state = Array.from(step.state, ([key, value]) => [key, JSON.stringify(value)] as const)
  const content = JSON.stringify([
    step.stepId,
    parentSpanId,
    step.status,
    step.metadata,
    input,
    output,
    state,
    step.prompt,
  ])
  const [id, parentId, contentHash, outputRevision] = await Promise.all([
    uuidOf(project, span),
    parentSpanId === null ? '' : uuidOf(project, { traceId, spanId: parentSpanId }),
    contentName(content),
    output === null ? null : contentName(output),
  ])
  return {
    id,
    parentId,
    stepId: step.stepId.toWellFormed(),
    timestamp: orderedTimeOf(startNs),
    durationMs: Math.round(Number(endNs - startNs) / 1e6),
    status: step.status,
    metadata: step.metadata,
    isGeneric: step.kind === 'generic',
    input,
    output,
    outputRevision,
    state,
    prompt: promptOf(step),
    // The one that ended last; of two that ended at once, either, but always the same.
    exportRevision: `${String(endNs).padStart(20, '0')}.${contentHash.slice(0, 16)}`,
  }
}

const jsonOf = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value))

/**
 * Steps that ask a model use a prompt, be it one that they do not name; others one that they name by its id. A number without
 * a name is of the step's own prompt.
 */
function promptOf({ kind, stepId, prompt }: SpanStep): ExportedSpan['prompt'] {
  if (kind !== 'llm' && kind !== 'prompt' && prompt?.id === undefined) return null
  const number = Number(prompt?.version)
  return {
    id: prompt?.id ?? null,
    name: prompt?.name ?? (Number.isInteger(number) ? stepId : null),
    number: Number.isInteger(number) ? number : null,
  }
}
