import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { SelectResultFields } from 'drizzle-orm/query-builders/select.types'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { type FoldedObservation, foldObservations, mergeInputs } from '../../domain/fold.ts'
import { JsonText } from '../../domain/json.ts'
import type { ReviewOutcome } from '../../domain/review-state.ts'
import type { SpanStatus } from '../../domain/span.ts'
import { cutText, utf8Length } from '../../domain/text.ts'
import {
  MAX_BRIEF_METADATA_BYTES,
  MAX_BRIEF_STATE_BYTES,
  MAX_DETAIL_APPROVED_BYTES,
  MAX_SPAN_BYTES,
  MAX_SPAN_VALUES,
  PREVIEW_BYTES,
} from '../../limits.ts'
import { bounded, bytesSoFar } from '../core/bounds.ts'
import { named } from '../core/database.ts'
import type { Store } from '../core/store.ts'
import { reviews } from '../schema/reviews.ts'
import { observations, spans } from '../schema/spans.ts'
import { briefly, type FoundValue, lengthOf, type ShownMode, type ShownValue, showValues } from '../traces/payloads.ts'

/** A span with its values, as answers show it. */
export interface SpanDetail {
  id: string
  parentId: string | null
  stepId: string
  status: SpanStatus | null
  durationMs: number | null
  promptVersionId: string | null
  metadata: JsonText
  timestamp: number
  /** Null where it came before the service kept that. */
  receivedAt: number | null
  input: JsonText
  output: JsonText
  /** `null` where the span is unreviewed. */
  approvedOutput: JsonText
  /** By key. */
  state: Record<string, JsonText>
  review: SpanReview | undefined
  /** Names what there was to judge, and what was decided: it changes with the output and with each decision. */
  revision: string
  /** The fields that are previews of their values: `input`, `output`, `approvedOutput`, `state.<key>`, `metadata`. */
  truncated: string[]
}

/** The decision that counts, where the span is reviewed. */
export interface SpanReview {
  state: ReviewOutcome
  userId: string
  createdAt: number
  comment: string | null
  errorType: string | null
  /** Whether the output has changed since. */
  isStale: boolean
}

const spanColumns = {
  isStale: sql<number>`${spans.isStale}`.as('isStale'),
  ...named({
    id: spans.id,
    traceKey: spans.traceKey,
    parentId: spans.parentId,
    stepId: spans.stepId,
    status: spans.status,
    durationMs: spans.durationMs,
    promptVersionId: spans.promptVersionId,
    timestamp: spans.timestamp,
    receivedAt: spans.receivedAt,
    inputRef: spans.inputRef,
    outputRef: spans.outputRef,
    outputRevision: spans.outputRevision,
    reviewNumber: spans.reviewNumber,
    claimedBy: spans.claimedBy,
    claimedUntil: spans.claimedUntil,
  }),
}

const given = (column: SQLiteColumn, name: string) => sql<string | null>`${column}`.as(name)
const isCutIf = (condition: SQL, name: string) => sql<number>`(${condition})`.as(name)
const NEVER = sql`0`

/** The fields of a span with all that its row holds, for rows that are known to be small enough together. */
export const wholeSpanFields = {
  ...spanColumns,
  metadata: given(spans.metadata, 'metadata'),
  input: given(spans.input, 'input'),
  output: given(spans.output, 'output'),
  state: given(spans.state, 'state'),
  isCut: isCutIf(NEVER, 'isCut'),
  isStateCut: isCutIf(NEVER, 'isStateCut'),
  isMetadataCut: isCutIf(NEVER, 'isMetadataCut'),
}

/** The fields of a span, its values while those of all rows have `maxBytes` together, after that their beginnings. */
export function boundedSpanFields(maxBytes: number) {
  const max = sql.raw(String(maxBytes))
  const soFar = bytesSoFar(spans.metadata, spans.input, spans.output, spans.state)
  const unlessCut = (column: SQLiteColumn, name: string) =>
    sql<string | null>`iif(${soFar} > ${max}, null, ${column})`.as(name)
  return {
    ...spanColumns,
    metadata: unlessCut(spans.metadata, 'metadata'),
    input: bounded(spans.input, soFar, max, 'input'),
    output: bounded(spans.output, soFar, max, 'output'),
    state: unlessCut(spans.state, 'state'),
    isCut: isCutIf(sql`${soFar} > ${max}`, 'isCut'),
    isStateCut: isCutIf(sql`${soFar} > ${max} and ${spans.state} is not null`, 'isStateCut'),
    isMetadataCut: isCutIf(sql`${soFar} > ${max} and ${spans.metadata} is not null`, 'isMetadataCut'),
  }
}

export const spanFields = boundedSpanFields(MAX_SPAN_BYTES)

/** So many characters tell whether a text has more than PREVIEW_BYTES bytes. */
const beginningOf = (column: SQLiteColumn) => sql`substr(${column}, 1, ${sql.raw(String(PREVIEW_BYTES + 1))})`
const briefText = (column: SQLiteColumn, name: string) => sql<string | null>`${beginningOf(column)}`.as(name)
const MAX_STATE = sql.raw(String(MAX_BRIEF_STATE_BYTES))
const MAX_METADATA = sql.raw(String(MAX_BRIEF_METADATA_BYTES))

/** The fields of a span whose values are shown `brief`: what its answer holds of them, and no more. */
export const briefSpanFields = {
  ...spanColumns,
  metadata: sql<string | null>`iif(octet_length(${spans.metadata}) > ${MAX_METADATA}, null, ${spans.metadata})`.as(
    'metadata',
  ),
  input: briefText(spans.input, 'input'),
  output: briefText(spans.output, 'output'),
  state: sql<string | null>`iif(octet_length(${spans.state}) > ${MAX_STATE}, null, ${spans.state})`.as('state'),
  isCut: isCutIf(NEVER, 'isCut'),
  isStateCut: isCutIf(sql`coalesce(octet_length(${spans.state}), 0) > ${MAX_STATE}`, 'isStateCut'),
  isMetadataCut: isCutIf(sql`coalesce(octet_length(${spans.metadata}), 0) > ${MAX_METADATA}`, 'isMetadataCut'),
}

const observationColumns = named({
  id: observations.id,
  traceKey: observations.traceKey,
  spanId: observations.spanId,
  type: observations.type,
  stateKey: observations.stateKey,
  dataRef: observations.dataRef,
  timestamp: observations.timestamp,
  receivedAt: observations.receivedAt,
})

/** The fields of an observation with its data, for rows that are known to be small enough together. */
export const wholeObservationFields = {
  ...observationColumns,
  data: given(observations.data, 'data'),
  isCut: isCutIf(NEVER, 'isCut'),
}

/** The fields of an observation, its data while that of all rows has MAX_SPAN_BYTES together. */
export function observationFields() {
  const soFar = bytesSoFar(observations.data)
  const max = sql.raw(String(MAX_SPAN_BYTES))
  return {
    ...observationColumns,
    data: bounded(observations.data, soFar, max, 'data'),
    isCut: isCutIf(sql`${soFar} > ${max}`, 'isCut'),
  }
}

/**
 * The observations that spans fold to, those that a later one replaces left out: outputs first, then inputs, then states, each
 * by time, MAX_SPAN_VALUES at most. Their data is whole while it has `maxBytes` together; `brief`: its beginning.
 */
export function chosenObservations(
  { database }: Store,
  { among, spanId, maxBytes }: { among: SQL | undefined; spanId: SQL; maxBytes: number | 'brief' },
) {
  const { traceKey, id, type, stateKey, timestamp, receivedAt } = observations
  const recency = sql`row_number() over (
    partition by ${traceKey}, ${spanId}, ${type}, iif(${type} = 'state', ${stateKey}, null)
    order by ${timestamp} desc, ${receivedAt} desc, ${id} desc)`
  const latest = sql`(
    select ${traceKey} as trace_key, ${id} as id, ${type} as type, ${timestamp} as timestamp,
      ${receivedAt} as received_at, octet_length(${observations.data}) as bytes, ${recency} as recency
    from ${observations} where ${among})`
  const order = sql`(type = 'output') desc, type, timestamp, received_at, id`
  const chosen = sql`(
    select trace_key, id, sum(bytes) over (order by ${order} rows unbounded preceding) as so_far,
      sum(type = 'input') over () as inputs, sum(type = 'state') over () as states
    from ${latest} where type = 'input' or recency = 1 order by ${order} limit ${sql.raw(String(MAX_SPAN_VALUES))}) as chosen`
  const isCut = maxBytes === 'brief' ? NEVER : sql`chosen.so_far > ${sql.raw(String(maxBytes))}`
  return database
    .select({
      ...observationColumns,
      data:
        maxBytes === 'brief'
          ? briefText(observations.data, 'data')
          : sql<string | null>`iif(${isCut}, ${beginningOf(observations.data)}, ${observations.data})`.as('data'),
      isCut: isCutIf(isCut, 'isCut'),
      inputs: sql<number>`chosen.inputs`.as('inputs'),
      states: sql<number>`chosen.states`.as('states'),
    })
    .from(chosen)
    .crossJoin(observations)
    .where(sql`${traceKey} = chosen.trace_key and ${id} = chosen.id`)
}

const approvedBytes = bytesSoFar(reviews.approved)
const MAX_APPROVED_BYTES = sql.raw(String(MAX_DETAIL_APPROVED_BYTES))

const decisionColumns = named({
  id: reviews.id,
  traceKey: reviews.traceKey,
  spanId: reviews.spanId,
  number: reviews.number,
  decision: reviews.decision,
  state: reviews.state,
  userId: reviews.userId,
  createdAt: reviews.createdAt,
  outputRevision: reviews.outputRevision,
  outputHash: reviews.outputHash,
  approvedRef: reviews.approvedRef,
  errorType: reviews.errorType,
})

const decisionFields = {
  ...decisionColumns,
  comment: given(reviews.comment, 'comment'),
  approved: bounded(reviews.approved, approvedBytes, MAX_APPROVED_BYTES, 'approved'),
  isCut: isCutIf(sql`${approvedBytes} > ${MAX_APPROVED_BYTES}`, 'isCut'),
}

/** The fields of a decision with all that its row holds, for rows that are known to be small enough together. */
export const wholeDecisionFields = {
  ...decisionColumns,
  comment: given(reviews.comment, 'comment'),
  approved: given(reviews.approved, 'approved'),
  isCut: isCutIf(NEVER, 'isCut'),
}

/** The fields of a decision on a span whose values are shown `brief`. */
export const briefDecisionFields = {
  ...decisionColumns,
  comment: briefText(reviews.comment, 'comment'),
  approved: briefText(reviews.approved, 'approved'),
  isCut: isCutIf(NEVER, 'isCut'),
}

/** The last decision on each of some spans. */
export const lastDecisions = ({ database }: Store, ofSpans: SQL | undefined) =>
  database.select(decisionFields).from(spans).crossJoin(reviews).where(and(ofSpans, isLastDecision))

/** Whether a decision is the last one on a span. */
export const isLastDecision = and(
  eq(reviews.traceKey, spans.traceKey),
  eq(reviews.spanId, spans.id),
  eq(reviews.number, spans.reviewNumber),
)

export type SpanRow = SelectResultFields<typeof wholeSpanFields>
export type ObservationRow = SelectResultFields<typeof wholeObservationFields>
export type DecisionRow = SelectResultFields<typeof decisionFields>

/** The rows that spans are made of. */
export interface SpanRows {
  traces: readonly { key: number; rootSpanId: string; isPosted: number }[]
  spans: readonly SpanRow[]
  /** Those of `chosenObservations` say how many inputs and states there are in all. */
  observations: readonly (ObservationRow & { inputs?: number; states?: number })[]
  decisions: readonly DecisionRow[]
}

/** A span's row and the values that it is made of. */
export interface FoldedSpan {
  row: SpanRow
  /** Null where the span has none. */
  parentId: string | null
  inputs: FoundValue[]
  /** How many of them, the last ones, are messages of one conversation. */
  messageCount: number
  output: FoundValue | undefined
  /** The last output's observation, or the name of the one that was given to the span itself. */
  outputRevision: string
  state: [key: string, value: FoundValue][]
  /** The last decision ever made. */
  decision: DecisionRow | undefined
  approved: FoundValue | undefined
  /** The fields of which some values were not even read. */
  leftOut: readonly ('input' | 'state')[]
}

/** Puts spans together from rows: values given to a span come first, its observations fold over them. */
export function foldSpans({ traces, spans, observations, decisions }: SpanRows): FoldedSpan[] {
  const traceOf = new Map(traces.map(trace => [trace.key, trace]))
  const rootOf = (traceKey: number) => traceOf.get(traceKey)?.rootSpanId ?? ''
  const observationsOf = Map.groupBy(observations, ({ traceKey, spanId }) =>
    placeOf(traceKey, spanId ?? rootOf(traceKey)),
  )
  const decisionOf = new Map(decisions.map(row => [placeOf(row.traceKey, row.spanId), row]))
  const leftOut = fieldsLeftOut(observations)
  return spans.map(row => {
    const place = placeOf(row.traceKey, row.id)
    const parentId = parentOf(row, traceOf.get(row.traceKey))
    const folded = fold(row, parentId, observationsOf.get(place) ?? [], decisionOf.get(place))
    return { ...folded, leftOut }
  })
}

/** The fields of which not all observations were read. Where several spans are read, it may be any of theirs. */
function fieldsLeftOut(observations: SpanRows['observations']): FoldedSpan['leftOut'] {
  const [first] = observations
  if (!first) return []
  const countOf = (type: ObservationRow['type']) => observations.filter(row => row.type === type).length
  const { inputs = 0, states = 0 } = first
  return [
    ...(inputs > countOf('input') ? (['input'] as const) : []),
    ...(states > countOf('state') ? (['state'] as const) : []),
  ]
}

/** Under the root hangs what a client sent without a parent; telemetry's spans without parent stand for themselves. */
function parentOf({ id, parentId }: SpanRow, trace: SpanRows['traces'][number] | undefined): string | null {
  if (!trace || id === trace.rootSpanId) return null
  return parentId || (trace.isPosted === 1 ? trace.rootSpanId : null)
}

const placeOf = (traceKey: number, spanId: string): string => `${traceKey}/${spanId}`

function fold(
  row: SpanRow,
  parentId: string | null,
  observationRows: readonly ObservationRow[],
  decision: DecisionRow | undefined,
): Omit<FoldedSpan, 'leftOut'> {
  const { traceKey } = row
  const found = (text: string | null, ref: string | null, isCut: number): FoundValue | undefined =>
    text === null ? undefined : { text, ref, traceKey, isCut: isCut === 1 }
  const { inputs, messageCount, output, state } = foldObservations(observationRows.map(foldable))
  const given: [key: string, text: string, ref: string | null][] = JSON.parse(row.state ?? '[]')
  const givenState = given.map(([key, text, ref]) => [key, { text, ref, traceKey }] as const)
  const givenInput = found(row.input, row.inputRef, row.isCut)
  return {
    row,
    parentId,
    inputs: givenInput ? [givenInput, ...inputs] : inputs,
    messageCount,
    output: output?.value ?? found(row.output, row.outputRef, row.isCut),
    outputRevision: output?.observationId ?? row.outputRevision ?? 'none',
    state: [...new Map<string, FoundValue>([...givenState, ...state])],
    decision,
    approved: decision && found(decision.approved, decision.approvedRef, decision.isCut),
  }
}

/** An observation as far as it is read. */
const foldable = ({ data, dataRef, isCut, ...row }: ObservationRow): FoldedObservation<FoundValue> => ({
  ...row,
  value: { text: data ?? 'null', ref: dataRef, traceKey: row.traceKey, isCut: isCut === 1 },
})

/** All values of a span. */
const valuesOf = ({ inputs, output, state, approved }: FoldedSpan): FoundValue[] => [
  ...inputs,
  ...(output ? [output] : []),
  ...state.map(([, value]) => value),
  ...(approved ? [approved] : []),
]

/** How much of a span an answer shows in full, in bytes of R2 or units of its rows: what is in R2 where it is fetched alone. */
export function sizeOf(span: FoldedSpan, mode: ShownMode): number {
  const shown = mode === 'full' ? valuesOf(span) : valuesOf(span).filter(({ ref }) => ref === null)
  const { row, decision } = span
  const beside = (row.metadata?.length ?? 0) + (decision?.comment?.length ?? 0)
  return shown.reduce((sum, value) => sum + lengthOf(value), beside)
}

/** Whether some of a span was not read for want of room. */
export const isAnyCut = (span: FoldedSpan): boolean =>
  span.row.isCut === 1 || span.leftOut.length > 0 || valuesOf(span).some(({ isCut }) => isCut)

/**
 * Spans as answers show them, `maxBytes` of their values in full. Undefined where an object is gone, as it is when the trace is
 * purged meanwhile.
 */
export async function showSpans(
  store: Store,
  folded: readonly FoldedSpan[],
  mode: ShownMode,
  maxBytes: number = MAX_SPAN_BYTES,
): Promise<SpanDetail[] | undefined> {
  const shown = await showValues(store, folded.flatMap(valuesOf), mode, maxBytes)
  return shown && folded.map(span => detailOf(span, shown, mode))
}

function detailOf(span: FoldedSpan, shown: ReadonlyMap<FoundValue, ShownValue>, mode: ShownMode): SpanDetail {
  const { row, parentId, inputs, output, state, approved, leftOut } = span
  const shownOf = (value: FoundValue | undefined) => (value && shown.get(value)) ?? NOTHING
  const shownInputs = inputs.map(shownOf)
  const shownOutput = shownOf(output)
  const shownApproved = shownOf(approved)
  const shownState = state.map(([key, value]) => [key, shownOf(value)] as const)
  const shownInput = inputOf(shownInputs, span.messageCount, mode)
  const metadata = row.metadata ?? '{}'
  const isMetadataCut = row.isMetadataCut === 1 || (mode === 'brief' && metadata.length > MAX_BRIEF_METADATA_BYTES)
  return {
    id: row.id,
    parentId,
    stepId: row.stepId,
    status: row.status,
    durationMs: row.durationMs,
    promptVersionId: row.promptVersionId,
    timestamp: row.timestamp,
    receivedAt: row.receivedAt,
    metadata: new JsonText(isMetadataCut ? '{}' : metadata),
    input: new JsonText(shownInput.text),
    output: new JsonText(shownOutput.text),
    approvedOutput: new JsonText(shownApproved.text),
    review: reviewOf(span, mode),
    revision: revisionOf(span),
    state: Object.fromEntries(shownState.map(([key, { text }]) => [key, new JsonText(text)])),
    truncated: [
      ...(shownInput.isWhole && !leftOut.includes('input') ? [] : ['input']),
      ...(shownOutput.isWhole ? [] : ['output']),
      ...(shownApproved.isWhole ? [] : ['approvedOutput']),
      ...shownState.filter(([, { isWhole }]) => !isWhole).map(([key]) => `state.${key}`),
      ...(row.isStateCut === 1 || leftOut.includes('state') ? ['state'] : []),
      ...(isMetadataCut ? ['metadata'] : []),
      ...(isCommentCut(span, mode) ? ['review.comment'] : []),
    ],
  }
}

const NOTHING: ShownValue = { text: 'null', isWhole: true }

/** What a reviewer's `If-Match` compares. */
export const revisionOf = ({ outputRevision, row: { reviewNumber } }: FoldedSpan): string =>
  reviewNumber === 0 ? outputRevision : `${outputRevision}.${reviewNumber}`

function reviewOf(span: FoldedSpan, mode: ShownMode): SpanReview | undefined {
  const { decision, row } = span
  if (!decision?.state) return undefined
  const { state, userId, createdAt, errorType } = decision
  const comment = isCommentCut(span, mode) ? cutText(decision.comment ?? '', PREVIEW_BYTES) : decision.comment
  return { state, userId, createdAt, comment, errorType, isStale: row.isStale === 1 }
}

const isCommentCut = ({ decision }: FoldedSpan, mode: ShownMode): boolean =>
  mode === 'brief' && Boolean(decision?.state) && utf8Length(decision?.comment ?? '') > PREVIEW_BYTES

/** Only several inputs need to be parsed, to become one. Where one is a preview, it stands for all. */
function inputOf(inputs: readonly ShownValue[], messageCount: number, mode: ShownMode): ShownValue {
  const [first, ...more] = inputs
  if (!first) return NOTHING
  if (more.length === 0 && messageCount === 0) return first
  const preview = inputs.find(({ text, isWhole }) => !isWhole && text.startsWith('"'))
  if (preview) return preview
  const merged = mergeInputs(
    inputs.map(({ text }) => JSON.parse(text)),
    messageCount,
  )
  const text = JSON.stringify(merged)
  return mode === 'brief' ? briefly(text) : { text, isWhole: inputs.every(({ isWhole }) => isWhole) }
}
