import { type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import type { JsonObject } from '../../domain/json.ts'
import type { ModelUse } from '../../domain/model-use.ts'
import { sharedTextHash } from '../../domain/shared-text.ts'
import type { SpanStatus } from '../../domain/span.ts'
import type { Project } from '../accounts/projects.ts'
import { chunkRows } from '../core/chunks.ts'
import { hasObservedOutput, needsReview, sharedTextOfNew } from '../core/reviewable.ts'
import { rowSet, selectFor } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { spans } from '../schema/spans.ts'
import { textVersions, versionedTexts } from '../schema/texts.ts'
import { traces } from '../schema/traces.ts'
import { isLive } from '../traces/live.ts'
import type { NewValue, PlacedValue, Placement } from '../traces/payloads.ts'
import { markItemsDue, NEW_SPAN, removeIdleRoots, showInLists } from '../traces/roots.ts'
import { belongsToOtherTrace } from '../traces/span-ids.ts'
import { touchAndFlag } from '../traces/traces.ts'
import { MODEL_USE, modelUseRow } from './model-use.ts'
import { markStale, type NewOutput } from './staleness.ts'

/** A span as a client sent it. Null fields weren't sent, so an update doesn't change them. */
export interface SpanDraft {
  id: string
  traceUuid: string
  parentId: string | null
  stepId: string
  timestamp: number
  promptVersionId: string | null
  metadata: JsonObject | null
  status: SpanStatus | null
  durationMs: number | null
  modelUse: ModelUse
  input: NewValue | null
  output: NewValue | null
  /** Identifies the output. An output that's sent again has the same revision. */
  outputRevision: string | null
  /** When the service received it. */
  receivedAt: number
}

export type SpanOutcome = 'accepted' | 'trace_missing' | 'on_other_trace' | 'prompt_version_missing'

/**
 * Stores spans, or updates the sent fields of existing ones. A root span keeps the fields that its trace determines.
 * Takes one round trip, or two if some drafts are refused. Draft ids must be unique.
 *
 * `on_other_trace`: another live trace in the organization has a span with this id.
 */
export async function saveSpans(
  store: Store,
  project: Project,
  drafts: readonly SpanDraft[],
  placement: Placement,
): Promise<SpanOutcome[]> {
  const placed = drafts.flatMap(draft => {
    const input = draft.input && placement.get(draft.input)
    const output = draft.output && placement.get(draft.output)
    return input === undefined || output === undefined ? [] : [{ draft, input, output }]
  })
  const stored = new Set<string>()
  for (const { items, json } of chunkRows(placed, rowOf)) {
    const drafted = items.map(({ draft }) => draft)
    const [rows] = await store.database.batch([
      upsertSpans(store, project, json),
      showInLists(store, hasStored(store, project, drafted)),
      ...touchAndFlag(
        store,
        hasStored(store, project, drafted),
        drafted[0]?.receivedAt ?? 0,
        'needsReview',
        needsReview,
      ),
      markItemsDue(store, hasStored(store, project, drafted), drafted[0]?.receivedAt ?? 0),
    ])
    for (const { id } of rows) stored.add(id)
    if (rows.some(({ isPosted }) => isPosted === 0)) await removeIdleRoots(store, hasStored(store, project, drafted))
    const reviewed = new Set(rows.flatMap(({ id, reviewState }) => (reviewState === null ? [] : [id])))
    await markStale(store, drafted.filter(({ id }) => reviewed.has(id)).flatMap(outputsOf), drafted[0]?.receivedAt ?? 0)
  }
  const refused = drafts.filter(({ id }) => !stored.has(id))
  if (refused.length === 0) return drafts.map(() => 'accepted')
  const reasons = await findReasons(store, project, refused, placement)
  // Nothing blocks these spans anymore: their trace has arrived in the meantime, or the conflicting span was deleted.
  const again = refused.filter(({ id }) => !reasons.has(id))
  const outcomes = again.length === 0 ? [] : await saveSpans(store, project, again, placement)
  for (const [index, { id }] of again.entries()) reasons.set(id, outcomes[index] ?? 'trace_missing')
  return drafts.map(({ id }) => reasons.get(id) ?? 'accepted')
}

const outputsOf = ({ id, traceUuid, output, outputRevision }: SpanDraft): NewOutput[] =>
  output && outputRevision !== null ? [{ traceUuid, spanId: id, revision: outputRevision, json: output.json }] : []

interface PlacedDraft {
  draft: SpanDraft
  input: PlacedValue | null
  output: PlacedValue | null
}

const SPANS = rowSet([
  'traceUuid',
  'placedUnder',
  'id',
  'parentId',
  'stepId',
  'timestamp',
  'promptVersionId',
  'metadata',
  'status',
  'durationMs',
  ...MODEL_USE,
  'input',
  'inputRef',
  'output',
  'outputRef',
  'outputRevision',
  'receivedAt',
  'textHash',
])

const rowOf = ({ draft, input, output }: PlacedDraft) =>
  SPANS.encode({
    ...draft,
    placedUnder: input?.traceKey ?? output?.traceKey,
    ...modelUseRow(draft.modelUse),
    metadata: draft.metadata && JSON.stringify(draft.metadata),
    input: input?.text,
    inputRef: input?.ref,
    output: output?.text,
    outputRef: output?.ref,
    textHash: draft.output && sharedTextHash(draft.output.json),
  })

/** Inserts the `rows` of `SPANS` whose traces exist. Returns the rows that are stored afterward. */
function upsertSpans(store: Store, project: Project, rows: string) {
  const { row } = SPANS
  const { id, promptVersionId, output } = row
  // Add the root of a trace known only from telemetry, if nothing has created it yet.
  const isRoot = sql`(${traces.rootSpanId} = ${id} and not exists (
    select 1 from ${spans} own where own.id = ${id} and own.trace_key = ${traces.key}))`
  return store.database
    .insert(spans)
    .select(
      selectFor(
        spans,
        {
          ...NEW_SPAN,
          ...row,
          traceKey: traces.key,
          isRoot,
          parentId: sql`iif(${isRoot}, null, ${row.parentId})`,
          stepId: sql`iif(${isRoot}, ${traces.name}, ${row.stepId})`,
          timestamp: sql`iif(${isRoot}, ${traces.timestamp}, ${row.timestamp})`,
          hasOutput: sql`case when ${output} is not null then 1 else ${hasObservedOutput(id, sql`<>`)} end`,
          hasNullOutput: hasObservedOutput(id, sql`=`),
          ...sharedTextOfNew(id, row.textHash),
        },
        sql`from ${SPANS.from(rows)} cross join ${traces}
          where ${isLive(store, sql`${traces.id} = ${row.traceUuid}`)}
            and coalesce(${row.placedUnder}, ${traces.key}) = ${traces.key}
            and not ${belongsToOtherTrace(store, id)}
            and ${hasPromptVersion(project, id, promptVersionId)}`,
      ),
    )
    .onConflictDoUpdate({
      target: [spans.id, spans.traceKey],
      set: {
        parentId: unlessRoot(spans.parentId, sql`coalesce(excluded.parent_id, ${spans.parentId})`),
        stepId: unlessRoot(spans.stepId, sql`excluded.step_id`),
        timestamp: unlessRoot(spans.timestamp, sql`excluded.timestamp`),
        promptVersionId: sql`coalesce(excluded.prompt_version_id, ${spans.promptVersionId})`,
        metadata: sql`coalesce(excluded.metadata, ${spans.metadata})`,
        hasOutput: sql`max(${spans.hasOutput}, excluded.has_output)`,
        hasNullOutput: sql`max(${spans.hasNullOutput}, excluded.has_null_output)`,
        status: sql`coalesce(excluded.status, ${spans.status})`,
        durationMs: sql`coalesce(excluded.duration_ms, ${spans.durationMs})`,
        model: sql`coalesce(excluded.model, ${spans.model})`,
        provider: sql`coalesce(excluded.provider, ${spans.provider})`,
        usage: sql`coalesce(excluded.usage, ${spans.usage})`,
        costUsd: sql`coalesce(excluded.cost_usd, ${spans.costUsd})`,
        input: sql`coalesce(excluded.input, ${spans.input})`,
        inputRef: sql`iif(excluded.input is null, ${spans.inputRef}, excluded.input_ref)`,
        output: sql`coalesce(excluded.output, ${spans.output})`,
        outputRef: sql`iif(excluded.output is null, ${spans.outputRef}, excluded.output_ref)`,
        outputRevision: sql`coalesce(excluded.output_revision, ${spans.outputRevision})`,
        // Unless the client sends a new output, the hash and its sign don't change.
        textHash: unlessNewOutput(spans.textHash, sql`excluded.text_hash`),
        textId: unlessNewOutput(spans.textId, sql`excluded.text_id`),
        // From now on, exports only fill in fields that the client left out.
        exportRevision: null,
        isGeneric: false,
        isSupporting: false,
      },
    })
    .returning({
      id: spans.id,
      reviewState: spans.reviewState,
      isPosted: sql<number>`(select ${traces.isPosted} from ${traces} where ${traces.key} = ${spans.traceKey})`,
    })
}

const unlessNewOutput = (column: SQLiteColumn, value: SQL) =>
  sql`iif(excluded.output is null or excluded.output_revision is ${spans.outputRevision}, ${column}, ${value})`

/**
 * Keeps the fields of a root span that its trace determines: its name, its time, and the absence of a parent. A root
 * from telemetry, whose parent is never null, is updated like any other span.
 */
const unlessRoot = (column: typeof spans.parentId | typeof spans.stepId | typeof spans.timestamp, value: SQL) =>
  sql`iif(${spans.isRoot} = 1 and ${spans.parentId} is null, ${column}, ${value})`

/**
 * Whether a prompt version id is null, belongs to one of the project's prompts, or is already on the stored span,
 * because a span may be sent again after its prompt was deleted.
 */
const hasPromptVersion = (project: Project, spanId: SQL, id: SQL) => sql`(${id} is null or exists (
  select 1 from ${textVersions} inner join ${versionedTexts} on ${versionedTexts.key} = ${textVersions.textKey}
  where ${textVersions.id} = ${id} and ${versionedTexts.projectKey} = ${project.key} and ${versionedTexts.kind} = 'prompt')
  or exists (select 1 from ${spans} stored
    where stored.id = ${spanId} and stored.trace_key = ${traces.key} and stored.prompt_version_id = ${id}))`

/** The fields needed to check whether a span was stored. */
const CLAIMS = rowSet(['traceUuid', 'id', 'promptVersionId'])
const claimsFrom = (drafts: readonly SpanDraft[]): SQL =>
  CLAIMS.from(
    CLAIMS.encodeAll(drafts.map(({ traceUuid, id, promptVersionId }) => ({ traceUuid, id, promptVersionId }))),
  )

/** Whether one of these spans of a trace is stored. */
const hasStored = (store: Store, project: Project, drafts: readonly SpanDraft[]): SQL =>
  sql`${traces.key} in (
    select ${traces.key} from ${claimsFrom(drafts)} cross join ${traces} cross join ${spans}
    where ${isLive(store, sql`${traces.id} = ${CLAIMS.row.traceUuid}`)}
      and ${spans.traceKey} = ${traces.key} and ${spans.id} = ${CLAIMS.row.id}
      and ${hasPromptVersion(project, CLAIMS.row.id, CLAIMS.row.promptVersionId)})`

/** Finds out why spans weren't stored. The result leaves out spans that nothing blocks anymore. */
async function findReasons(
  store: Store,
  project: Project,
  refused: readonly SpanDraft[],
  placement: Placement,
): Promise<Map<string, SpanOutcome>> {
  const { id, traceUuid, promptVersionId } = CLAIMS.row
  const rows = await store.database.all<RefusedRow>(sql`
    select ${id} as id, ${traces.key} as traceKey,
      ${belongsToOtherTrace(store, id)} as isTaken,
      ${hasPromptVersion(project, id, promptVersionId)} as hasVersion
    from ${claimsFrom(refused)} left join ${traces}
      on ${isLive(store, sql`${traces.id} = ${traceUuid}`)}`)
  const found = new Map(rows.map(row => [row.id, row]))
  return new Map(
    refused.flatMap(draft => {
      const reason = reasonOf(draft, found.get(draft.id), placement)
      return reason ? [[draft.id, reason]] : []
    }),
  )
}

interface RefusedRow {
  id: string
  traceKey: number | null
  isTaken: number | null
  hasVersion: number
}

function reasonOf(draft: SpanDraft, row: RefusedRow | undefined, placement: Placement): SpanOutcome | undefined {
  const traceKey = row?.traceKey ?? null
  if (!row || traceKey === null) return 'trace_missing'
  if (row.isTaken === 1) return 'on_other_trace'
  if (row.hasVersion === 0) return 'prompt_version_missing'
  // Values that aren't under this trace were placed under an earlier trace with the same id, which this trace has
  // replaced in the meantime.
  const placed = [draft.input, draft.output].map(value => value && placement.get(value))
  const isPlaced = placed.every(value => value !== undefined && [null, traceKey].includes(value?.traceKey ?? null))
  return isPlaced ? undefined : 'trace_missing'
}
