import { type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import type { ModelUse } from '../../domain/model-use.ts'
import type { SpanStatus } from '../../domain/span.ts'
import type { Reviewability } from '../../domain/step-kind.ts'
import { Template } from '../core/database.ts'
import { hasObservedOutput, sharedTextOfNew } from '../core/reviewable.ts'
import { rowSet, selectFor } from '../core/rows.ts'
import { promptOfStep } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { spans } from '../schema/spans.ts'
import { textActivations, textVersions, versionedTexts } from '../schema/texts.ts'
import { traces } from '../schema/traces.ts'
import { BOUND_LATER, isLive } from '../traces/live.ts'
import { NEW_SPAN } from '../traces/roots.ts'
import { isOnOtherTrace } from '../traces/span-ids.ts'
import { MODEL_USE } from './model-use.ts'

/** A span in an export. */
export interface ExportedSpan {
  id: string
  /** '' for a span without a parent. */
  parentId: string
  stepId: string
  /** The fraction orders spans that began in the same millisecond. */
  timestamp: number
  durationMs: number
  status: SpanStatus | null
  /** As JSON. */
  metadata: string
  reviewability: Reviewability
  modelUse: ModelUse
  /** As JSON, or null if there is none. */
  input: string | null
  output: string | null
  /** Identifies the output: equal outputs have the same revision. */
  outputRevision: string | null
  /** The `sharedTextHash` of the output. Null for a tool below the root. */
  textHash: number | null
  /** Whether the pipeline named the step explicitly. */
  isNamed: boolean
  /** JSON by state key. */
  state: readonly (readonly [key: string, json: string])[]
  /** The prompt that the span used. Null if the span isn't a step that uses a prompt. */
  prompt: { id: string | null; name: string | null; number: number | null } | null
  /** If a span is exported several times, the greatest revision wins. A repeated export has the same revision. */
  exportRevision: string
}

export const SPANS = rowSet([
  'traceKey',
  'traceUuid',
  'id',
  'exportRevision',
  'parentId',
  'stepId',
  'timestamp',
  'durationMs',
  'status',
  'metadata',
  'isGeneric',
  'isSupporting',
  ...MODEL_USE,
  'input',
  'inputRef',
  'output',
  'outputRef',
  'outputRevision',
  'textHash',
  'state',
  'stateRef',
  'usesPrompt',
  'promptVersionId',
  'promptName',
  'promptNumber',
])

const { row } = SPANS

/**
 * Inserts the `rows` of `SPANS`. Each row must match its trace's key and id, because another trace may have taken the
 * same key in the meantime. If the span exists, the export with the greatest revision wins. If a client sent the span,
 * an export only fills in fields that the client left out.
 */
export const upsertSpans = (store: Store, rows: string, now: number): D1PreparedStatement =>
  upsert.with(store.database, { organizationKey: store.organization.key, rows, now })

const upsert = new Template(database => {
  const { id, output } = row
  const isClients = sql`${spans.exportRevision} is null`
  const given = (column: SQLiteColumn, excluded: SQL) =>
    sql`iif(${isClients}, coalesce(${column}, ${excluded}), ${excluded})`
  const mark = (column: SQLiteColumn, excluded: SQL) => sql`iif(${isClients}, max(${column}, ${excluded}), ${excluded})`
  const withRef = (value: SQLiteColumn, ref: SQLiteColumn, excluded: SQL) =>
    sql`iif(${isClients} and ${value} is not null, ${ref}, ${excluded})`
  const unlessSameOutput = (column: SQLiteColumn, excluded: SQL) =>
    sql`iif(excluded.output_revision is ${spans.outputRevision}, ${column}, ${withRef(spans.output, column, excluded)})`
  return database
    .insert(spans)
    .select(
      selectFor(
        spans,
        {
          ...NEW_SPAN,
          ...row,
          traceKey: traces.key,
          isRoot: sql`${traces.rootSpanId} = ${id}`,
          stepId,
          promptVersionId,
          hasOutput: sql`case when ${output} <> 'null' then 1 else ${hasObservedOutput(id, sql`<>`)} end`,
          hasNullOutput: sql`case when ${output} = 'null' then 1 else ${hasObservedOutput(id, sql`=`)} end`,
          ...sharedTextOfNew(id, row.textHash),
          receivedAt: sql`${sql.placeholder('now')}`,
        },
        sql`from ${SPANS.fromWide(sql.placeholder('rows'))} cross join ${traces}
          where ${isLive(BOUND_LATER, sql`${traces.key} = ${row.traceKey} and ${traces.id} = ${row.traceUuid}`)}
            and not ${isOnOtherTrace(BOUND_LATER, spans, {
              id,
              traceUuid: sql`${traces.id}`,
              // A client can compute the id and use it for a span of its own before this span arrives.
              which: sql`elsewhere.export_revision is not null`,
            })}`,
      ),
    )
    .onConflictDoUpdate({
      target: [spans.id, spans.traceKey],
      set: {
        parentId: given(spans.parentId, sql`excluded.parent_id`),
        stepId: sql`iif(${isClients}, ${spans.stepId}, excluded.step_id)`,
        timestamp: sql`iif(${isClients}, ${spans.timestamp}, excluded.timestamp)`,
        promptVersionId: given(spans.promptVersionId, sql`excluded.prompt_version_id`),
        metadata: given(spans.metadata, sql`excluded.metadata`),
        hasOutput: mark(spans.hasOutput, sql`excluded.has_output`),
        hasNullOutput: mark(spans.hasNullOutput, sql`excluded.has_null_output`),
        status: given(spans.status, sql`excluded.status`),
        durationMs: given(spans.durationMs, sql`excluded.duration_ms`),
        inputRef: withRef(spans.input, spans.inputRef, sql`excluded.input_ref`),
        input: given(spans.input, sql`excluded.input`),
        outputRef: withRef(spans.output, spans.outputRef, sql`excluded.output_ref`),
        outputRevision: withRef(spans.output, spans.outputRevision, sql`excluded.output_revision`),
        textHash: unlessSameOutput(spans.textHash, sql`excluded.text_hash`),
        textId: unlessSameOutput(spans.textId, sql`excluded.text_id`),
        output: given(spans.output, sql`excluded.output`),
        stateRef: withRef(spans.state, spans.stateRef, sql`excluded.state_ref`),
        state: given(spans.state, sql`excluded.state`),
        model: given(spans.model, sql`excluded.model`),
        provider: given(spans.provider, sql`excluded.provider`),
        usage: given(spans.usage, sql`excluded.usage`),
        costUsd: given(spans.costUsd, sql`excluded.cost_usd`),
        isGeneric: sql`iif(${isClients}, 0, excluded.is_generic)`,
        isSupporting: sql`iif(${isClients}, 0, excluded.is_supporting)`,
        exportRevision: sql`iif(${isClients}, null, excluded.export_revision)`,
      },
      setWhere: sql`${isClients} or ${spans.exportRevision} < excluded.export_revision`,
    })
})

const usesPrompt = sql`${row.usesPrompt} = 1`

/** The project's prompt that a span names. Null if there is none. */
const namedPrompt = promptOfStep(traces.projectKey, row.promptName)

/** The name of the prompt that the span names, if the project has the prompt. Otherwise, the span's own step. */
const stepId = sql`case when ${usesPrompt} and ${namedPrompt} is not null
  then ${row.promptName} else ${row.stepId} end`

/**
 * The version that a span used: the version that the span names by id, or by prompt name and number. Otherwise, the
 * version that was active when the span began.
 */
const promptVersionId = sql`case when ${usesPrompt} then coalesce(
    (select ${textVersions.id} from ${textVersions} cross join ${versionedTexts}
      where ${textVersions.id} = ${row.promptVersionId} and ${textVersions.textKey} = ${versionedTexts.key}
        and ${versionedTexts.projectKey} = ${traces.projectKey} and ${versionedTexts.kind} = 'prompt'),
    (select ${textVersions.id} from ${textVersions}
      where ${textVersions.textKey} = ${namedPrompt} and ${textVersions.number} = ${row.promptNumber}),
    (select ${textVersions.id} from ${textActivations} cross join ${textVersions}
      where ${textActivations.textKey} = coalesce(${namedPrompt}, ${promptOfStep(traces.projectKey, row.stepId)})
        and ${textActivations.activatedAt} <= ${row.timestamp} and ${textVersions.key} = ${textActivations.versionKey}
      order by ${textActivations.activatedAt} desc, ${textActivations.versionKey} desc limit 1)) end`
