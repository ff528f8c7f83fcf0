import { and, desc, eq, type SQL, sql } from 'drizzle-orm'
import { counted, formatCount } from '../../domain/counted.ts'
import { type NearSpan, nearestSpans } from '../../domain/neighborhood.ts'
import {
  MAX_SUBJECT_CANDIDATES,
  MAX_SUBJECT_DOC_CANDIDATES,
  MAX_SUBJECT_FEEDBACK,
  MAX_SUBJECT_SPANS,
} from '../../limits.ts'
import { named, readPlain } from '../core/database.ts'
import { shownSpanStep } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { feedback, reviews } from '../schema/reviews.ts'
import { isNotRoot, spans } from '../schema/spans.ts'
import { textActivations, textVersions, versionedTexts } from '../schema/texts.ts'
import { traces } from '../schema/traces.ts'
import { feedbackFields, toFeedbackDetail } from '../spans/trace-detail.ts'
import { isLive } from '../traces/live.ts'
import { selectReviewed } from './precedents.ts'

/* An overview of a trace without values, for deciding which of its spans to read. */

export type Outline = NonNullable<Awaited<ReturnType<typeof readOutline>>>

const traceFields = {
  ...named({
    id: traces.id,
    key: traces.key,
    projectKey: traces.projectKey,
    rootSpanId: traces.rootSpanId,
    status: traces.status,
    timestamp: traces.timestamp,
    durationMs: traces.durationMs,
    receivedAt: traces.receivedAt,
  }),
  isPosted: sql<number>`${traces.isPosted}`.as('isPosted'),
  metadata: sql<string>`${traces.metadata}`.as('metadata'),
}

const outlineFields = {
  ...named({
    id: spans.id,
    parentId: spans.parentId,
    timestamp: spans.timestamp,
    promptVersionId: spans.promptVersionId,
  }),
  stepId: shownSpanStep.as('stepId'),
  isError: sql<number>`${spans.status} is 'error'`.as('isError'),
  isReviewed: sql<number>`${spans.reviewState} is not null`.as('isReviewed'),
}

/** Reads the overview of a trace. */
export async function readOutline(store: Store, traceKey: number) {
  const { database } = store
  const ofTrace = isLive(store, eq(traces.key, traceKey))
  const projectKey = sql`(select ${traces.projectKey} from ${traces} where ${ofTrace})`
  const rootSpanId = sql`(select ${traces.rootSpanId} from ${traces} where ${ofTrace})`
  const isNonRoot = and(eq(spans.traceKey, traceKey), isNotRoot)
  const hasFeedback = sql`${spans.id} in (select ${feedback.spanId} from ${feedback} where ${feedback.traceKey} = ${traceKey})`
  const [[trace], roots, others, [counts], feedbackRows, docs, reviewed] = await readPlain(database, [
    database.select(traceFields).from(traces).where(ofTrace),
    database
      .select(outlineFields)
      .from(spans)
      .where(and(eq(spans.id, rootSpanId), eq(spans.traceKey, traceKey))),
    database
      .select(outlineFields)
      .from(spans)
      .where(isNonRoot)
      .orderBy(
        desc(sql`(${spans.reviewState} is not null or ${hasFeedback})`),
        desc(sql`${spans.status} is 'error'`),
        desc(spans.timestamp),
      )
      .limit(MAX_SUBJECT_CANDIDATES),
    database
      .select({
        spans: sql<number>`(select count(*) from ${spans} where ${isNonRoot})`.as('spans'),
        feedback:
          sql<number>`(select count(*) from ${feedback} where ${feedback.traceKey} = ${traceKey} and ${isStandalone})`.as(
            'feedback',
          ),
        docs: sql<number>`(select count(*) from versioned_texts
          where versioned_texts.project_key = traces.project_key and versioned_texts.kind = 'knowledge_doc')`.as(
          'docs',
        ),
      })
      .from(traces)
      .where(ofTrace),
    database
      .select(feedbackFields)
      .from(feedback)
      .where(and(eq(feedback.traceKey, traceKey), isStandalone))
      .orderBy(desc(feedback.timestamp), desc(feedback.receivedAt), desc(feedback.id))
      .limit(MAX_SUBJECT_FEEDBACK),
    database
      .select({
        slug: sql<string>`${versionedTexts.name}`.as('slug'),
        title: sql<string>`${versionedTexts.title}`.as('title'),
        versionKey: sql<number>`${textVersions.key}`.as('versionKey'),
        bytes: sql<number>`octet_length(${textVersions.content})`.as('bytes'),
      })
      .from(versionedTexts)
      .crossJoin(textVersions)
      .where(
        and(
          eq(versionedTexts.projectKey, projectKey),
          sql`${versionedTexts.kind} = 'knowledge_doc'`,
          eq(textVersions.key, versionAtReceipt(traceKey)),
        ),
      )
      .limit(MAX_SUBJECT_DOC_CANDIDATES),
    selectReviewed(store, projectKey),
  ])
  // A trace known only from telemetry may lack its root. Its earliest span then serves as the root.
  const [root = others.toSorted(byTime)[0]] = roots
  if (!trace || !root || !counts) return undefined
  return {
    trace,
    root,
    others: others.filter(({ id }) => id !== root.id),
    /** The total number of spans. */
    total: counts.spans + roots.length,
    counts,
    feedback: feedbackRows.toReversed().map(row => toFeedbackDetail(row, trace.rootSpanId)),
    docs,
    /** The project's last decisions in the trace's database, newest first. */
    reviewed,
  }
}

const byTime = (left: { timestamp: number; id: string }, right: { timestamp: number; id: string }): number =>
  left.timestamp - right.timestamp || (left.id < right.id ? -1 : 1)

/**
 * The version of the current text that was active when a trace was received, or its first version if the text is newer
 * than the trace.
 */
export const versionAtReceipt = (traceKey: number): SQL => sql`coalesce(
  (select ${textActivations.versionKey} from ${textActivations}
    where ${textActivations.textKey} = ${versionedTexts.key} and ${textActivations.activatedAt} <= (
      select ${traces.receivedAt} from ${traces} where ${traces.key} = ${traceKey})
    order by ${textActivations.activatedAt} desc, ${textActivations.versionKey} desc limit 1),
  (select ${textActivations.versionKey} from ${textActivations}
    where ${textActivations.textKey} = ${versionedTexts.key}
    order by ${textActivations.activatedAt}, ${textActivations.versionKey} limit 1))`

/** Excludes the comments on current decisions, which are part of the steps' reviews. */
const isStandalone = sql`(${feedback.source} <> 'review' or not exists (
  select 1 from ${spans} decided cross join ${reviews} decision
  where decided.id = ${feedback.spanId} and decided.trace_key = ${feedback.traceKey} and decided.review_state is not null
    and decision.trace_key = decided.trace_key and decision.span_id = decided.id
    and decision.number = decided.review_number and decision.id = ${feedback.id}))`

export type OutlineSpan = Outline['others'][number]

export function chooseSpans({ root, others, feedback }: Outline): OutlineSpan[] {
  const near = ({ isError, isReviewed, ...row }: OutlineSpan): NearSpan & { row: OutlineSpan } => ({
    ...row,
    isError: isError === 1,
    isReviewed: isReviewed === 1,
    row: { ...row, isError, isReviewed },
  })
  const spansWithFeedback = new Set(feedback.map(({ spanId }) => spanId))
  return nearestSpans(near(root), others.map(near), spansWithFeedback, MAX_SUBJECT_SPANS).map(({ row }) => row)
}

export function omittedSpans({ total }: Outline, chosen: readonly OutlineSpan[]): string[] {
  const omittedCount = total - chosen.length
  return omittedCount === 0
    ? []
    : [`${formatCount(omittedCount)} of ${counted(total, 'span')} (the farthest from the feedback)`]
}

export function omittedFeedback({ counts, feedback }: Outline): string[] {
  const omittedCount = counts.feedback - feedback.length
  const cut = feedback.filter(({ truncated }) => truncated.length > 0).length
  return [
    ...(omittedCount > 0
      ? [`${formatCount(omittedCount)} of ${counted(counts.feedback, 'piece')} of feedback (the oldest)`]
      : []),
    ...(cut > 0 ? [`part of ${counted(cut, 'piece')} of feedback, because of the limit on the total length`] : []),
  ]
}
