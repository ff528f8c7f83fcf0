import { and, desc, eq, type SQL, sql } from 'drizzle-orm'
import type { SelectResultFields } from 'drizzle-orm/query-builders/select.types'
import type { Labeller } from '../../domain/feedback.ts'
import { canonicalJson } from '../../domain/json.ts'
import { type NearSpan, nearestSpans } from '../../domain/neighbourhood.ts'
import type { KnowledgeDoc, Precedent, Step, Subject, SubjectFeedback } from '../../domain/subject.ts'
import { turnsByLength } from '../../domain/turns.ts'
import {
  MAX_PRECEDENT_REVIEWS,
  MAX_PRECEDENTS,
  MAX_SUBJECT_BYTES,
  MAX_SUBJECT_CANDIDATES,
  MAX_SUBJECT_DOC_CANDIDATES,
  MAX_SUBJECT_DOCS,
  MAX_SUBJECT_FEEDBACK,
  MAX_SUBJECT_SPANS,
  MAX_SUBJECT_TEXT_BYTES,
  MAX_SUBJECT_VALUE_BYTES,
} from '../../limits.ts'
import { bytesSoFar } from '../core/bounds.ts'
import { named, readPlain } from '../core/database.ts'
import type { Store } from '../core/store.ts'
import { feedback, reviews } from '../schema/reviews.ts'
import { isNoRoot, observations, spans } from '../schema/spans.ts'
import { textActivations, textVersions, versionedTexts } from '../schema/texts.ts'
import { traces } from '../schema/traces.ts'
import {
  type FoldedSpan,
  foldSpans,
  lastDecisions,
  observationFields,
  type SpanDetail,
  showSpans,
  spanFields,
} from '../spans/span-detail.ts'
import { feedbackFields, toFeedbackDetail } from '../spans/trace-detail.ts'
import { type FoundValue, lengthOf, untilWhole } from '../traces/payloads.ts'
import { isLive, SPAN_PLACES } from '../traces/traces.ts'

/*
 * What an engine is shown of a trace. Traces may be larger than an isolate, so first only is read what tells which spans lie
 * near the disagreement, then their values, and of all that is left out the subject says how much.
 */

/**
 * The disagreement on a trace and what it is about, in three round trips, and R2 reads for its large values. Undefined where
 * there is no such trace.
 */
export const findSubject = (store: Store, traceKey: number): Promise<Subject | undefined> =>
  untilWhole(store, () => readSubject(store, traceKey))

async function readSubject(store: Store, traceKey: number) {
  const outline = await readOutline(store, traceKey)
  if (!outline) return undefined
  const { trace } = outline
  const chosen = chooseSpans(outline)
  const precedentRows = outline.reviewed
    .filter(({ stepId }) => chosen.some(span => span.stepId === stepId))
    .slice(0, MAX_PRECEDENTS)
  const neighbourhood = await readNeighbourhood(store, outline, chosen, precedentRows)
  const omitted = [...omittedFeedback(outline), ...omittedSpans(outline, chosen)]
  const folded = withinBounds(neighbourhood.folded, omitted)
  const shown = await showSpans(store, folded, 'full')
  if (!shown) return { traces: [trace], found: undefined }
  const prompts = promptsOf(neighbourhood, omitted)
  const precedents = await comparable(store, trace.key, neighbourhood.precedents)
  const root = shown.find(({ id }) => id === trace.rootSpanId)
  const isSame = sameJson()
  const steps: Step[] = []
  const giveTurns = turnsByLength()
  for (const [index, detail] of shown.entries()) {
    await giveTurns(detail.input.text.length + detail.output.text.length)
    const span = folded[index]
    const before = neighbourhood.folded[index]
    const isWhole = span?.inputs.length === before?.inputs.length
    steps.push({
      ...stepOf(detail, trace),
      hasOutput: before?.output !== undefined,
      prompt: prompts.get(detail.promptVersionId ?? detail.stepId) ?? null,
      precedents: root && isWhole ? precedentsOf(detail, root, precedents, isSame) : [],
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

type Outline = NonNullable<Awaited<ReturnType<typeof readOutline>>>

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
    stepId: spans.stepId,
    timestamp: spans.timestamp,
    promptVersionId: spans.promptVersionId,
  }),
  isError: sql<number>`${spans.status} is 'error'`.as('isError'),
  isReviewed: sql<number>`${spans.reviewState} is not null`.as('isReviewed'),
}

/** What tells what to read of a trace. */
async function readOutline(store: Store, traceKey: number) {
  const { database } = store
  const ofTrace = isLive(store, eq(traces.key, traceKey))
  const projectKey = sql`(select ${traces.projectKey} from ${traces} where ${ofTrace})`
  const rootSpanId = sql`(select ${traces.rootSpanId} from ${traces} where ${ofTrace})`
  const isOther = and(eq(spans.traceKey, traceKey), isNoRoot)
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
      .where(isOther)
      .orderBy(
        desc(sql`(${spans.reviewState} is not null or ${hasFeedback})`),
        desc(sql`${spans.status} is 'error'`),
        desc(spans.timestamp),
      )
      .limit(MAX_SUBJECT_CANDIDATES),
    database
      .select({
        spans: sql<number>`(select count(*) from ${spans} where ${isOther})`.as('spans'),
        feedback:
          sql<number>`(select count(*) from ${feedback} where ${feedback.traceKey} = ${traceKey} and ${isOnItsOwn})`.as(
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
      .where(and(eq(feedback.traceKey, traceKey), isOnItsOwn))
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
    database
      .select(reviewedFields(store))
      .from(reviews)
      .where(eq(reviews.projectKey, projectKey))
      .orderBy(desc(reviews.createdAt))
      .limit(MAX_PRECEDENT_REVIEWS),
  ])
  // What telemetry alone tells of a trace may begin in the middle: its earliest span then stands for the root.
  const [root = others.toSorted(byTime)[0]] = roots
  if (!trace || !root || !counts) return undefined
  return {
    trace,
    root,
    others: others.filter(({ id }) => id !== root.id),
    /** All spans. */
    total: counts.spans + roots.length,
    counts,
    feedback: feedbackRows.toReversed().map(row => toFeedbackDetail(row, trace.rootSpanId)),
    docs,
    reviewed: reviewed.filter(row => row.traceKey !== traceKey && row.rootSpanId !== null && row.stepId !== null),
  }
}

const byTime = (left: { timestamp: number; id: string }, right: { timestamp: number; id: string }): number =>
  left.timestamp - right.timestamp || (left.id < right.id ? -1 : 1)

/** The version of the text at hand that was active when a trace was received, or its first one where it came later. */
const versionAtReceipt = (traceKey: number): SQL => sql`coalesce(
  (select ${textActivations.versionKey} from ${textActivations}
    where ${textActivations.textKey} = ${versionedTexts.key} and ${textActivations.activatedAt} <= (
      select ${traces.receivedAt} from ${traces} where ${traces.key} = ${traceKey})
    order by ${textActivations.activatedAt} desc, ${textActivations.versionKey} desc limit 1),
  (select ${textActivations.versionKey} from ${textActivations}
    where ${textActivations.textKey} = ${versionedTexts.key}
    order by ${textActivations.activatedAt}, ${textActivations.versionKey} limit 1))`

/**
 * A decision and its span: no step where another decision came after it, no root where its trace is gone. Columns are written
 * out, for drizzle drops their table's name from a selection of one table.
 */
const reviewedFields = ({ organization }: Store) => ({
  ...named({ traceKey: reviews.traceKey, spanId: reviews.spanId }),
  stepId: sql<string | null>`(select decided.step_id from ${spans} decided
    where decided.id = reviews.span_id and decided.trace_key = reviews.trace_key
      and decided.review_number = reviews.number and decided.review_state is not null)`.as('stepId'),
  rootSpanId: sql<string | null>`(select past.root_span_id from ${traces} past
    where past.key = reviews.trace_key and past.deleted_at is null
      and past.organization_key = ${organization.key})`.as('rootSpanId'),
})

type ReviewedRow = SelectResultFields<ReturnType<typeof reviewedFields>>

/** Not the comment of a decision that counts: that one is part of the step's review. */
const isOnItsOwn = sql`(${feedback.source} <> 'review' or not exists (
  select 1 from ${spans} decided cross join ${reviews} decision
  where decided.id = ${feedback.spanId} and decided.trace_key = ${feedback.traceKey} and decided.review_state is not null
    and decision.trace_key = decided.trace_key and decision.span_id = decided.id
    and decision.number = decided.review_number and decision.id = ${feedback.id}))`

type OutlineSpan = Outline['others'][number]

function chooseSpans({ root, others, feedback }: Outline): OutlineSpan[] {
  const near = ({ isError, isReviewed, ...row }: OutlineSpan): NearSpan & { row: OutlineSpan } => ({
    ...row,
    isError: isError === 1,
    isReviewed: isReviewed === 1,
    row: { ...row, isError, isReviewed },
  })
  const spansWithFeedback = new Set(feedback.map(({ spanId }) => spanId))
  return nearestSpans(near(root), others.map(near), spansWithFeedback, MAX_SUBJECT_SPANS).map(({ row }) => row)
}

function omittedSpans({ total }: Outline, chosen: readonly OutlineSpan[]): string[] {
  const left = total - chosen.length
  return left === 0 ? [] : [`${count(left)} of ${count(total)} spans, which are far from the feedback`]
}

function omittedFeedback({ counts, feedback }: Outline): string[] {
  const left = counts.feedback - feedback.length
  const cut = feedback.filter(({ truncated }) => truncated.length > 0).length
  return [
    ...(left > 0 ? [`the oldest ${count(left)} of ${count(counts.feedback)} pieces of feedback`] : []),
    ...(cut > 0 ? [`the texts of ${count(cut)} pieces of feedback, which are too long together`] : []),
  ]
}

const count = (number: number): string => number.toLocaleString('en')

const versionBytes = bytesSoFar(textVersions.content, textVersions.outputSchema)
const isPromptWhole = sql`${versionBytes} <= ${sql.raw(String(MAX_SUBJECT_TEXT_BYTES))}`

/** A prompt, by the version's id or the step's; null where those before it are too much already. */
const promptFields = {
  name: sql<string>`item.value`.as('name'),
  content: sql<string | null>`iif(${isPromptWhole}, ${textVersions.content}, null)`.as('content'),
  outputSchema: sql<string | null>`iif(${isPromptWhole}, ${textVersions.outputSchema}, null)`.as('outputSchema'),
}

/** Reads the chosen spans' values, prompts, and what may have been decided on the same input before. */
async function readNeighbourhood(
  store: Store,
  { trace }: Outline,
  chosen: readonly OutlineSpan[],
  reviewed: readonly ReviewedRow[],
) {
  const { database } = store
  const ids = JSON.stringify(chosen.map(({ id }) => id))
  const isChosen = sql`(${spans.id}, ${spans.traceKey}) in (
    select item.value, ${trace.key} from json_each(${ids}) as item)`
  const versionIds = new Set(chosen.flatMap(({ promptVersionId }) => promptVersionId ?? []))
  const stepIds = new Set(chosen.flatMap(({ promptVersionId, stepId }) => (promptVersionId === null ? stepId : [])))
  const given = (names: Set<string>) => sql`json_each(${JSON.stringify([...names])}) as item`
  const places = reviewed.flatMap(({ traceKey, spanId, rootSpanId }) => [
    { id: spanId, traceKey },
    { id: rootSpanId, traceKey },
  ])
  const past = SPAN_PLACES.from(SPAN_PLACES.encodeAll(places))
  const { row } = SPAN_PLACES
  const isPast = sql`(${spans.id}, ${spans.traceKey}) in (select ${row.id}, ${row.traceKey} from ${past})`
  const rootOf = sql`(select ${traces.rootSpanId} from ${traces} where ${traces.key} = ${observations.traceKey})`
  const [spanRows, observationRows, decisions, named, active, pastTraces, pastSpans, pastInputs, pastDecisions] =
    await readPlain(database, [
      database.select(spanFields).from(spans).where(isChosen),
      database
        .select(observationFields())
        .from(observations)
        .where(
          and(
            eq(observations.traceKey, trace.key),
            sql`coalesce(${observations.spanId}, ${trace.rootSpanId}) in (
              select item.value from json_each(${ids}) as item)`,
          ),
        ),
      lastDecisions(store, isChosen),
      database
        .select(promptFields)
        .from(given(versionIds))
        .crossJoin(textVersions)
        .where(sql`${textVersions.id} = item.value`),
      database
        .select(promptFields)
        .from(given(stepIds))
        .crossJoin(versionedTexts)
        .crossJoin(textVersions)
        .where(
          and(
            eq(versionedTexts.projectKey, trace.projectKey),
            sql`${versionedTexts.kind} = 'prompt' and ${versionedTexts.name} = item.value`,
            eq(textVersions.key, versionAtReceipt(trace.key)),
          ),
        ),
      database
        .select({
          key: sql<number>`${traces.key}`.as('key'),
          rootSpanId: sql<string>`${traces.rootSpanId}`.as('rootSpanId'),
          isPosted: sql<number>`${traces.isPosted}`.as('isPosted'),
        })
        .from(traces)
        .where(isLive(store, sql`${traces.key} in (select ${row.traceKey} from ${past})`)),
      database.select(spanFields).from(spans).where(isPast),
      database
        .select(observationFields())
        .from(observations)
        .where(
          sql`${observations.traceKey} in (select ${row.traceKey} from ${past})
            and ${observations.type} = 'input'
            and (${observations.traceKey}, coalesce(${observations.spanId}, ${rootOf})) in (
              select ${row.traceKey}, ${row.id} from ${past})`,
        ),
      lastDecisions(store, isPast),
    ])
  const placeOf = new Map(chosen.map(({ id }, index) => [id, index]))
  const inOrder = spanRows.toSorted((left, right) => (placeOf.get(left.id) ?? 0) - (placeOf.get(right.id) ?? 0))
  return {
    folded: foldSpans({ traces: [trace], spans: inOrder, observations: observationRows, decisions }),
    prompts: [...named, ...active],
    precedents: {
      reviewed,
      folded: foldSpans({
        traces: pastTraces,
        spans: pastSpans,
        observations: pastInputs,
        decisions: pastDecisions,
      }),
    },
  }
}

/** Spans without the values that are too large, or that come after too many others. */
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
      // Of several inputs, all make up the span's.
      ...(inputs.every(fits) ? { inputs } : { inputs: [], messageCount: 0 }),
      output: output && fits(output) ? output : undefined,
      state: state.filter(([, value]) => fits(value)),
      approved: approved && fits(approved) ? approved : undefined,
    }
  })
  if (tooLarge > 0) omitted.push(`${count(tooLarge)} values over ${count(MAX_SUBJECT_VALUE_BYTES / 1024)} KiB`)
  if (tooMany > 0) omitted.push(`${count(tooMany)} values that come after the first 4 MiB`)
  return bounded
}

const inlineOf = ({ row: { traceKey, isCut } }: FoldedSpan, text: string): FoundValue => ({
  text,
  ref: null,
  traceKey,
  isCut: isCut === 1,
})

type Neighbourhood = Awaited<ReturnType<typeof readNeighbourhood>>

/** Prompts by the version's id, or by the step's. */
function promptsOf({ prompts }: Neighbourhood, omitted: string[]): Map<string, Step['prompt']> {
  const whole = new Map<string, Step['prompt']>()
  for (const { name, content, outputSchema } of prompts) {
    if (content === null) continue
    // A prompt without a schema has one that holds for anything.
    const isSchema = outputSchema !== null && outputSchema !== '{}'
    whole.set(name, { content, outputSchema: isSchema ? JSON.parse(outputSchema) : null })
  }
  const left = prompts.length - whole.size
  if (left > 0) omitted.push(`${count(left)} prompts, which are too long together`)
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

/** A labeller without an e-mail is no user: the feedback is then the key's, which is that of many people, or of a reviewer. */
const authorOf = (userId: string, labeller: Labeller | null): string =>
  labeller?.name && labeller.email === undefined ? `labeller ${labeller.name}` : userId

/** A span of another trace with its decision and that trace's input. */
interface Compared {
  detail: SpanDetail
  rootInput: string
}

/** The earlier decisions whose inputs and approved outputs lie in their rows, newest first. */
async function comparable(
  store: Store,
  traceKey: number,
  { reviewed, folded }: Neighbourhood['precedents'],
): Promise<Compared[]> {
  const isInline = (value: FoundValue | undefined) => !value || (value.ref === null && !value.isCut)
  const inline = folded
    .filter(({ inputs, approved, row }) => row.traceKey !== traceKey && [...inputs, approved].every(isInline))
    .map(span => ({ ...span, output: undefined, state: [] }))
  const shown = (await showSpans(store, inline, 'full')) ?? []
  const detailOf = new Map(shown.map((detail, index) => [`${inline[index]?.row.traceKey}/${detail.id}`, detail]))
  return reviewed.flatMap(({ traceKey, spanId, rootSpanId }) => {
    const detail = detailOf.get(`${traceKey}/${spanId}`)
    const root = detailOf.get(`${traceKey}/${rootSpanId}`)
    return detail?.review && root ? [{ detail, rootInput: root.input.text }] : []
  })
}

/** Tells whether two JSON texts have the same value; each is parsed once, for every step is compared with every decision. */
function sameJson(): (left: string, right: string) => boolean {
  const known = new Map<string, string>()
  const canonical = (text: string) => {
    const value = known.get(text) ?? canonicalJson(JSON.parse(text))
    known.set(text, value)
    return value
  }
  return (left, right) => left === right || (left.length === right.length && canonical(left) === canonical(right))
}

/** The decisions on spans of a step with the same input, in traces with the same input. */
function precedentsOf(
  step: SpanDetail,
  root: SpanDetail,
  compared: readonly Compared[],
  isSame: ReturnType<typeof sameJson>,
): Precedent[] {
  // Where nothing went in, nothing can be told to be the same.
  if (step.input.text === 'null' && root.input.text === 'null') return []
  return compared.flatMap(({ detail, rootInput }) => {
    const isEqualCase =
      detail.stepId === step.stepId && isSame(detail.input.text, step.input.text) && isSame(rootInput, root.input.text)
    if (!isEqualCase || !detail.review) return []
    const { state, userId } = detail.review
    return [{ spanId: detail.id, state, approvedOutput: JSON.parse(detail.approvedOutput.text), userId }]
  })
}

/** The project's knowledge docs as they were; of too many, those first that the trace names. */
async function readKnowledgeDocs(
  { database }: Store,
  { docs, counts }: Outline,
  shown: readonly SpanDetail[],
  omitted: string[],
): Promise<KnowledgeDoc[]> {
  const chosen = chooseDocs(docs, shown)
  const left = counts.docs - chosen.length
  if (left > 0) omitted.push(`${count(left)} of ${count(counts.docs)} knowledge docs`)
  if (chosen.length === 0) return []
  const keys = JSON.stringify(chosen.map(({ versionKey }) => versionKey))
  const [versions] = await readPlain(database, [
    database
      .select({
        key: sql<number>`${textVersions.key}`.as('key'),
        content: sql<string>`${textVersions.content}`.as('content'),
      })
      .from(sql`json_each(${keys}) as item`)
      .crossJoin(textVersions)
      .where(sql`${textVersions.key} = item.value`),
  ])
  const contentOf = new Map(versions.map(({ key, content }) => [key, content]))
  return chosen.flatMap(({ slug, title, versionKey }) => {
    const content = contentOf.get(versionKey)
    return content === undefined ? [] : [{ slug, title, content }]
  })
}

function chooseDocs(docs: Outline['docs'], shown: readonly SpanDetail[]): Outline['docs'] {
  const total = docs.reduce((sum, { bytes }) => sum + bytes, 0)
  if (docs.length <= MAX_SUBJECT_DOCS && total <= MAX_SUBJECT_TEXT_BYTES) return docs
  const words = new Set(shown.flatMap(wordsOf))
  const isNamed = ({ slug }: { slug: string }) => words.has(slug)
  let bytes = 0
  return [...docs.filter(isNamed), ...docs.filter(doc => !isNamed(doc))]
    .filter(doc => {
      const fits = bytes + doc.bytes <= MAX_SUBJECT_TEXT_BYTES
      if (fits) bytes += doc.bytes
      return fits
    })
    .slice(0, MAX_SUBJECT_DOCS)
}

/** The words of a span that may be slugs. */
const wordsOf = ({ input, output, state, metadata }: SpanDetail): string[] =>
  [input, output, ...Object.values(state), metadata].flatMap(({ text }) => text.match(/[a-z0-9][a-z0-9-]*/g) ?? [])
