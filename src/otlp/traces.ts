import { leftWarnings } from '../domain/metadata.ts'
import { mapInTurns } from '../domain/turns.ts'
import { feedbackDraft } from '../ingest/feedback.ts'
import { MAX_WRITTEN_RECORDS, RECORDS_PER_TURN } from '../limits.ts'
import type { PlacedProject } from '../store/accounts/projects.ts'
import { attributionMessages } from '../store/attribution/requests.ts'
import { ChangesInEach } from '../store/core/across.ts'
import { saveFeedback } from '../store/reviews/feedback.ts'
import { saveExport } from '../store/spans/exports.ts'
import { groupByStore } from '../store/traces/placed.ts'
import { decodeTraces } from './decode.ts'
import { type ExportContext, exportEndpoints } from './endpoint.ts'
import { type Exported, exportedOf, uuidOf } from './exported.ts'
import { Outcome } from './outcome.ts'
import { byProject } from './project.ts'
import type { TelemetrySpan } from './reading/telemetry.ts'
import type { SpanOutline } from './span-step.ts'

const UNREADABLE = 'an internal error occurred while reading them'
const ON_OTHER_TRACE = 'another trace in the organization has a span with this id'

/** Stores spans in their traces, and stores people's judgments from the spans as feedback. */
export const exportTraces = exportEndpoints('traces', async context => {
  const outcome = new Outcome()
  const changes = new ChangesInEach()
  for (const [project, spans] of await readSpans(context, outcome)) {
    // Remove spans from the list before reading them, because the resulting steps take up as much memory as the spans.
    while (spans.length > 0) {
      const exported = await exportedOf(project, spans.splice(0, MAX_WRITTEN_RECORDS), context.requestId)
      await save(context, project, exported, outcome, changes)
    }
  }
  changes.requireAll()
  return outcome
})

async function readSpans(context: ExportContext, outcome: Outcome): Promise<Map<PlacedProject, TelemetrySpan[]>> {
  const { records, rejected } = await context.body.decode(decodeTraces)
  outcome.rejectAll(rejected)
  return byProject(context, records)
}

async function save(
  context: ExportContext,
  project: PlacedProject,
  exported: Exported,
  outcome: Outcome,
  changes: ChangesInEach,
): Promise<void> {
  const { traces, outlines, warnings, unreadable } = exported
  outcome.warn(...warnings)
  if (unreadable > 0) outcome.reject(UNREADABLE, unreadable)
  const grouped = await groupByStore(context.store, project, traces, ({ id }) => id)
  const saved = await changes.change(grouped, (store, ofStore) => saveExport(store, project, ofStore, context.now))
  for (const { onOtherTrace, leftFields } of saved) {
    if (onOtherTrace.size > 0) outcome.reject(ON_OTHER_TRACE, onOtherTrace.size)
    for (const left of leftFields.values()) outcome.warn(...leftWarnings(left))
  }
  await saveJudgments(context, project, outlines, changes)
}

/**
 * Stores people's judgments from spans as feedback. The feedback's ids are derived from the spans, so a span that's
 * sent again adds nothing.
 */
async function saveJudgments(
  { caller, store, now, enqueue }: ExportContext,
  project: PlacedProject,
  traces: ReadonlyMap<string, readonly SpanOutline[]>,
  changes: ChangesInEach,
): Promise<void> {
  const judgments = [...traces].flatMap(([traceId, spans]) =>
    spans.flatMap(({ span, step }) => step.feedback.map(judgment => ({ traceId, span, ...judgment }))),
  )
  const drafts = await mapInTurns(judgments, RECORDS_PER_TURN, async ({ traceId, span, isOfTrace, ...judgment }) => {
    const { name, identifier, rating, comment } = judgment
    const body = {
      trace_id: traceId,
      feedback_id: `otel:${span.traceId}:${span.spanId}:${name}:${identifier}`,
      span_id: isOfTrace ? undefined : await uuidOf(project, span),
      name,
      rating,
      comment,
      labeller: { name: identifier },
    }
    return (await feedbackDraft({ caller, project }, body, now)).fields
  })
  const fields = new Map(drafts.map(draft => [draft.id, draft]))
  if (fields.size === 0) return
  await changes.change(
    await groupByStore(store, project, [...fields.values()], ({ traceUuid }) => traceUuid),
    async (shard, ofShard) => {
      const { toAttribute } = await saveFeedback(shard, project, ofShard)
      enqueue(...attributionMessages(shard, toAttribute))
    },
  )
}
