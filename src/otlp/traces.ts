import { leftWarnings } from '../domain/metadata.ts'
import { feedbackDraft } from '../ingest/feedback.ts'
import { attributionJobsOf } from '../store/attributions.ts'
import { saveExport } from '../store/exports.ts'
import { saveFeedback } from '../store/feedback.ts'
import type { Project } from '../store/projects.ts'
import { decodeTraces } from './decode.ts'
import { type ExportContext, exportEndpoints } from './endpoint.ts'
import { type Exported, exportedOf, uuidOf } from './exported.ts'
import { Outcome } from './outcome.ts'
import { byProject } from './project.ts'
import type { SpanOutline } from './span-step.ts'

const UNREADABLE = 'they could not be read, by a fault of the service'
const ON_OTHER_TRACE = 'another trace of the organization has a span with this id'

/** Takes spans, each to the trace that it belongs to, and what people's judgments they carry. */
export const exportTraces = exportEndpoints('traces', async context => {
  const { store, now } = context
  const outcome = new Outcome()
  for (const [project, { traces, outlines, warnings, unreadable }] of await readSpans(context, outcome)) {
    outcome.warn(...warnings)
    if (unreadable > 0) outcome.reject(UNREADABLE, unreadable)
    const { onOtherTrace, leftFields } = await saveExport(store, project, traces, now)
    if (onOtherTrace.size > 0) outcome.reject(ON_OTHER_TRACE, onOtherTrace.size)
    for (const fields of leftFields.values()) outcome.warn(...leftWarnings(fields))
    await saveJudgments(context, project, outlines)
  }
  return outcome
})

/** What was sent, read as steps. On its own, so that what came over the wire is gone before what is made of it is written. */
async function readSpans(context: ExportContext, outcome: Outcome): Promise<Map<Project, Exported>> {
  const { records, rejected } = await context.read(decodeTraces)
  outcome.rejectAll(rejected)
  const found = new Map<Project, Exported>()
  for (const [project, spans] of await byProject(context, records)) {
    found.set(project, await exportedOf(project, spans, context.requestId))
  }
  return found
}

/** Stores the judgments of people that came as a part of spans: feedback, each under an id of its own. */
async function saveJudgments(
  { caller, store, now, enqueue }: ExportContext,
  project: Project,
  traces: ReadonlyMap<string, readonly SpanOutline[]>,
): Promise<void> {
  const drafts = [...traces].flatMap(([traceId, spans]) =>
    spans.flatMap(({ span, step }) =>
      step.feedback.map(async ({ name, identifier, rating, comment, isOfTrace }) => {
        const body = {
          trace_id: traceId,
          feedback_id: `otel:${span.traceId}:${span.spanId}:${name}:${identifier}`,
          span_id: isOfTrace ? undefined : await uuidOf(project, span),
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
