import { contentName } from '../domain/hash.ts'
import { exportedSpanUuid, rootSpanUuid, traceUuid } from '../domain/ids.ts'
import { giveTurn, inPieces, mapInTurns } from '../domain/turns.ts'
import { logFault } from '../http/errors.ts'
import { RECORDS_A_TURN } from '../limits.ts'
import type { Project } from '../store/accounts/projects.ts'
import type { ExportedSpan } from '../store/spans/exported-spans.ts'
import type { ExportedTrace } from '../store/spans/exports.ts'
import { stepOf, traceIdOf } from './map.ts'
import { orderedTimeOf, type TelemetrySpan, weightOf } from './reading/telemetry.ts'
import { isRootOf, outlineOf, type ReadSpan, type SpanOutline, type SpanStep } from './span-step.ts'
import { factsOf } from './trace-facts.ts'

/** Spans as the store takes them, and what else they say. */
export interface Exported {
  traces: ExportedTrace[]
  /** By the trace's client-side id. */
  outlines: ReadonlyMap<string, readonly SpanOutline[]>
  /** What was cut. */
  warnings: ReadonlySet<string>
  /** How many spans could not be read, by a mistake of ours: it costs no other span. */
  unreadable: number
}

/** Reads the spans of one project. */
export async function exportedOf(
  project: Project,
  spans: readonly TelemetrySpan[],
  requestId: string,
): Promise<Exported> {
  const found = new Map<string, { spans: ExportedSpan[]; outlines: SpanOutline[] }>()
  const traceOf = (traceId: string) => {
    const known = found.get(traceId) ?? { spans: [], outlines: [] }
    found.set(traceId, known)
    return known
  }
  const warnings = new Set<string>()
  let unreadable = 0
  for (const some of inPieces(spans, RECORDS_A_TURN, weightOf)) {
    const reading = some.map(async span => {
      const read = tryRead(span, error => {
        // One line says enough, with no word of the span's.
        if (unreadable++ === 0) logFault('span_unreadable', { requestId }, placeOf(error))
      })
      if (!read) return
      for (const warning of read.step.warnings) warnings.add(warning)
      const ofTrace = traceOf(traceIdOf(span))
      ofTrace.outlines.push(outlineOf(read))
      if (!read.step.isPending) ofTrace.spans.push(await exportedSpan(project, read))
    })
    await Promise.all(reading)
    await giveTurn()
  }
  const traces = await mapInTurns(
    [...found],
    RECORDS_A_TURN,
    ([traceId, { spans, outlines }]) => exportedTrace(project, traceId, spans, outlines),
    ([, { outlines }]) => outlines.length,
  )
  return {
    traces,
    outlines: new Map(Array.from(found, ([traceId, { outlines }]) => [traceId, outlines])),
    warnings,
    unreadable,
  }
}

function tryRead(span: TelemetrySpan, onError: (error: unknown) => void): ReadSpan | undefined {
  try {
    return { span, step: stepOf(span) }
  } catch (error) {
    onError(error)
    return undefined
  }
}

/** What kind of error it is and where it was thrown: its message may quote what it was about. */
const placeOf = (error: unknown): string =>
  error instanceof Error ? `${error.name} ${/\n *(at .*)/.exec(error.stack ?? '')?.[1] ?? ''}` : 'no error'

async function exportedTrace(
  project: Project,
  traceId: string,
  spans: readonly ExportedSpan[],
  outlines: readonly SpanOutline[],
): Promise<ExportedTrace> {
  const facts = factsOf(outlines)
  const [id, rootSpanId] = await Promise.all([traceUuid(project.id, traceId), rootSpanUuid(project.id, traceId)])
  const root = facts.root && { ...facts.root, value: await uuidOf(project, facts.root.value) }
  return { id, traceId, rootSpanId, facts: { ...facts, root }, spans: latestOf(spans) }
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
  const metadata = JSON.stringify(step.metadata)
  const state = Array.from(step.state, ([key, value]) => [key, JSON.stringify(value)] as const)
  const content = JSON.stringify([step.stepId, parentSpanId, step.status, metadata, input, output, state, step.prompt])
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
    metadata,
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
