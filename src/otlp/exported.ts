import { contentName } from '../domain/hash.ts'
import { exportedSpanUuid, rootSpanUuid, traceUuid } from '../domain/ids.ts'
import { sharedTextHash } from '../domain/shared-text.ts'
import { giveTurn, inPieces, mapInTurns } from '../domain/turns.ts'
import { logFault } from '../http/errors.ts'
import { RECORDS_PER_TURN } from '../limits.ts'
import type { Project } from '../store/accounts/projects.ts'
import type { ExportedSpan } from '../store/spans/exported-spans.ts'
import type { ExportedTrace } from '../store/spans/exports.ts'
import { stepOf, traceIdOf } from './map.ts'
import { orderedTimeOf, type TelemetrySpan, weightOf } from './reading/telemetry.ts'
import { offerOnce } from './repeated-texts.ts'
import { isRootOf, outlineOf, type ReadSpan, type SpanOutline, type SpanStep } from './span-step.ts'
import { factsOf } from './trace-facts.ts'
import { type Twins, twinsIn } from './twins.ts'

/** Spans in the form that the store takes, and other data read from them. */
export interface Exported {
  traces: ExportedTrace[]
  /** Keyed by client trace id. */
  outlines: ReadonlyMap<string, readonly SpanOutline[]>
  /** Warnings about values that were truncated. */
  warnings: ReadonlySet<string>
  /** How many spans couldn't be read because of a bug in our code. Other spans are unaffected. */
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
  const twins = twinsIn(spans)
  for (const some of inPieces(spans, RECORDS_PER_TURN, weightOf)) {
    const reading = some.map(async span => {
      const read = tryRead(span, twins, error => {
        // Log one error per export, without any of the span's content.
        if (unreadable++ === 0) logFault('span_unreadable', { requestId }, placeOf(error))
      })
      if (!read) return
      for (const warning of read.step.warnings) warnings.add(warning)
      const trace = traceOf(traceIdOf(span))
      trace.outlines.push(outlineOf(read))
      if (!read.step.isPending) trace.spans.push(await exportedSpan(project, read))
    })
    await Promise.all(reading)
    await giveTurn()
  }
  const traces = await mapInTurns(
    [...found],
    RECORDS_PER_TURN,
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

function tryRead(span: TelemetrySpan, twins: Twins, onError: (error: unknown) => void): ReadSpan | undefined {
  try {
    return { span, step: stepOf(span, twins) }
  } catch (error) {
    onError(error)
    return undefined
  }
}

/** The error's type and where it was thrown. Its message is left out, because it may quote the span. */
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
  return { id, traceId, rootSpanId, facts: { ...facts, root }, spans: offerOnce(latestOf(spans)) }
}

/** Keeps the latest revision of each span, as the store does. */
function latestOf(spans: readonly ExportedSpan[]): ExportedSpan[] {
  const latest = new Map<string, ExportedSpan>()
  for (const span of spans) {
    const before = latest.get(span.id)
    if (!before || before.exportRevision < span.exportRevision) latest.set(span.id, span)
  }
  return [...latest.values()]
}

/** The span's id in our API. */
export const uuidOf = ({ id }: Project, { traceId, spanId }: Pick<TelemetrySpan, 'traceId' | 'spanId'>) =>
  exportedSpanUuid(id, traceId, spanId)

async function exportedSpan(project: Project, read: ReadSpan): Promise<ExportedSpan> {
  const { span, step } = read
  const { traceId, parentSpanId, startNs, endNs } = span
  const rootTrace = isRootOf(read) ? step.trace : undefined
  const input = jsonOf(step.input ?? rootTrace?.input)
  const value = step.output ?? rootTrace?.output
  const output = jsonOf(value)
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
    reviewability: step.reviewability,
    modelUse: step.modelUse,
    input,
    output,
    outputRevision,
    textHash: output !== null && sharesText(read) ? sharedTextHash(output, value) : null,
    isNamed: step.isNamed,
    state,
    prompt: promptOf(step),
    // The revision that ended last wins. If two ended at the same time, their hashes decide, so the result is always
    // the same.
    exportRevision: `${String(endNs).padStart(20, '0')}.${contentHash.slice(0, 16)}`,
  }
}

/**
 * Whether the root may share this span's text. A tool below the root gets its text from elsewhere, and steps that
 * nobody reviews don't matter.
 */
const sharesText = ({ span, step }: ReadSpan): boolean =>
  step.reviewability !== 'never' && (step.kind !== 'tool' || span.parentSpanId === null)

const jsonOf = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value))

/**
 * The prompt that a step used. Steps that call a model always use one, even if they don't name it. Other steps use one
 * only if they give its id. A version number without a name refers to the step's own prompt.
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
