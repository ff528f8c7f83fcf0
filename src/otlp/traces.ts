import { feedbackDraft } from '../ingest/feedback.ts'
import { attributionJobsOf } from '../store/attributions.ts'
import { saveExport } from '../store/exports.ts'
import { saveFeedback } from '../store/feedback.ts'
import type { Project } from '../store/projects.ts'
import { decodeTraces } from './decode.ts'
import { type ExportContext, exportEndpoints } from './endpoint.ts'
import { exportedTrace, readSpans, uuidOf } from './exported.ts'
import { Outcome } from './outcome.ts'
import { byProject } from './project.ts'
import type { ReadSpan } from './span-step.ts'

const ON_OTHER_TRACE = 'another trace of the organization has a span with this id'

/** Takes spans, each to the trace that it belongs to, and what people's judgments they carry. */
export const exportTraces = exportEndpoints('traces', async context => {
  const { body, type, store, now } = context
  const { records, rejected } = decodeTraces(body, type)
  const outcome = new Outcome(rejected)
  for (const [project, spans] of await byProject(context, records)) {
    const traces = readSpans(spans)
    for (const { step } of [...traces.values()].flat()) outcome.warn(...step.warnings)
    const exported = await Promise.all(Array.from(traces, ([traceId, spans]) => exportedTrace(project, traceId, spans)))
    const { onOtherTrace, leftFields } = await saveExport(store, project, exported, now)
    if (onOtherTrace.size > 0) outcome.reject(ON_OTHER_TRACE, onOtherTrace.size)
    for (const fields of leftFields.values()) {
      outcome.warn(`these fields of the trace's metadata no longer fit and were left out: ${fields.join(', ')}`)
    }
    await saveJudgments(context, project, traces)
  }
  return outcome
})

/** Stores the judgments of people that came as a part of spans: feedback, each under an id of its own. */
async function saveJudgments(
  { caller, store, now, enqueue }: ExportContext,
  project: Project,
  traces: ReadonlyMap<string, readonly ReadSpan[]>,
): Promise<void> {
  const drafts = [...traces].flatMap(([traceId, spans]) =>
    spans.flatMap(({ span, step }) =>
      step.feedback.map(async ({ name, identifier, rating, comment }) => {
        const body = {
          trace_id: traceId,
          feedback_id: `otel:${span.traceId}:${span.spanId}:${name}:${identifier}`,
          span_id: await uuidOf(project, span),
          rating,
          comment,
          labeller: { name: identifier },
        }
        return (await feedbackDraft({ caller, store, project }, body, now)).fields
      }),
    ),
  )
  const fields = new Map((await Promise.all(drafts)).map(draft => [draft.id, draft]))
  if (fields.size === 0) return
  const { toAttribute } = await saveFeedback(store, [...fields.values()])
  enqueue(...attributionJobsOf(store, toAttribute))
}
