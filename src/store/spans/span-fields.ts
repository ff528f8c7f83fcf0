import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { SelectResultFields } from 'drizzle-orm/query-builders/select.types'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import {
  MAX_BRIEF_METADATA_BYTES,
  MAX_BRIEF_STATE_BYTES,
  MAX_DETAIL_APPROVED_BYTES,
  MAX_SPAN_BYTES,
  MAX_SPAN_VALUES,
  PREVIEW_BYTES,
} from '../../limits.ts'
import { assignees } from '../core/assignees.ts'
import { bounded, bytesSoFar } from '../core/bounds.ts'
import { moreClaims } from '../core/claims.ts'
import { named } from '../core/database.ts'
import { hasBlindPolicy, policyReviewers } from '../core/review-policy.ts'
import { shownSpanStep } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { reviews } from '../schema/reviews.ts'
import { observations, spans } from '../schema/spans.ts'

const spanColumns = {
  isStale: sql<number>`${spans.isStale}`.as('isStale'),
  hasSuggestions: sql<number>`${spans.hasSuggestions}`.as('hasSuggestions'),
  stepId: shownSpanStep.as('stepId'),
  assignees: assignees.as('assignees'),
  moreClaims: moreClaims.as('moreClaims'),
  hasBlindPolicy: sql<number>`${hasBlindPolicy}`.as('hasBlindPolicy'),
  policyReviewers: sql<number>`${policyReviewers}`.as('policyReviewers'),
  ...named({
    id: spans.id,
    traceKey: spans.traceKey,
    parentId: spans.parentId,
    status: spans.status,
    durationMs: spans.durationMs,
    model: spans.model,
    provider: spans.provider,
    usage: spans.usage,
    costUsd: spans.costUsd,
    promptVersionId: spans.promptVersionId,
    timestamp: spans.timestamp,
    receivedAt: spans.receivedAt,
    inputRef: spans.inputRef,
    outputRef: spans.outputRef,
    outputRevision: spans.outputRevision,
    reviewNumber: spans.reviewNumber,
    voteNumber: spans.voteNumber,
    claimedBy: spans.claimedBy,
    claimedUntil: spans.claimedUntil,
  }),
}

const given = (column: SQLiteColumn, name: string) => sql<string | null>`${column}`.as(name)

const isCutIf = (condition: SQL, name: string) => sql<number>`(${condition})`.as(name)

const NEVER = sql`0`

/** A span's fields in full, for rows whose total size is known to be small enough. */
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

/**
 * A span's fields. Values are read in full until the total size of the rows exceeds `maxBytes`. After that, only the
 * beginning of each value is read.
 */
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

/** This many characters are enough to see whether a string exceeds PREVIEW_BYTES. */
const beginningOf = (column: SQLiteColumn) => sql`substr(${column}, 1, ${sql.raw(String(PREVIEW_BYTES + 1))})`

const briefText = (column: SQLiteColumn, name: string) => sql<string | null>`${beginningOf(column)}`.as(name)

const MAX_STATE = sql.raw(String(MAX_BRIEF_STATE_BYTES))

const MAX_METADATA = sql.raw(String(MAX_BRIEF_METADATA_BYTES))

/** A span's fields for `brief`, with only the part of each value that the response shows. */
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

/** An observation's fields in full, for rows whose total size is known to be small enough. */
export const wholeObservationFields = {
  ...observationColumns,
  data: given(observations.data, 'data'),
  isCut: isCutIf(NEVER, 'isCut'),
}

/** An observation's fields. Data is read in full until the total size of the rows exceeds MAX_SPAN_BYTES. */
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
 * Selects up to MAX_SPAN_VALUES observations to fold into spans, except those that a later observation replaces.
 * Outputs come first, then inputs, then states; each group is sorted by time. Data is read in full up to `maxBytes` in
 * total. With `brief`, only the beginning of each observation's data is read.
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
  basis: reviews.basis,
})

const decisionFields = {
  ...decisionColumns,
  comment: given(reviews.comment, 'comment'),
  approved: bounded(reviews.approved, approvedBytes, MAX_APPROVED_BYTES, 'approved'),
  isCut: isCutIf(sql`${approvedBytes} > ${MAX_APPROVED_BYTES}`, 'isCut'),
}

/** A decision's fields in full, for rows whose total size is known to be small enough. */
export const wholeDecisionFields = {
  ...decisionColumns,
  comment: given(reviews.comment, 'comment'),
  approved: given(reviews.approved, 'approved'),
  isCut: isCutIf(NEVER, 'isCut'),
}

/** A decision's fields for `brief`. */
export const briefDecisionFields = {
  ...decisionColumns,
  comment: briefText(reviews.comment, 'comment'),
  approved: briefText(reviews.approved, 'approved'),
  isCut: isCutIf(NEVER, 'isCut'),
}

/** Selects the last decision on each of these spans. */
export const lastDecisions = ({ database }: Store, ofSpans: SQL | undefined) =>
  database.select(decisionFields).from(spans).crossJoin(reviews).where(and(ofSpans, isLastDecision))

/** Whether a decision is the last one on its span. */
export const isLastDecision = and(
  eq(reviews.traceKey, spans.traceKey),
  eq(reviews.spanId, spans.id),
  eq(reviews.number, spans.reviewNumber),
)

export type SpanRow = SelectResultFields<typeof wholeSpanFields>

export type ObservationRow = SelectResultFields<typeof wholeObservationFields>

export type DecisionRow = SelectResultFields<typeof decisionFields>
