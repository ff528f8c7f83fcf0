import { and, asc, eq, getTableColumns, gt, isNull, type SQL, sql } from 'drizzle-orm'
import type { Change } from '../../domain/change.ts'
import type { ItemVerdict } from '../../domain/experiment.ts'
import { newId } from '../../domain/ids.ts'
import type { FieldAgreement, Outcome } from '../../domain/outcome.ts'
import type { CountedResult, StoredTally } from '../../domain/tally.ts'
import { COUNTED_RESULTS } from '../../limits.ts'
import { chunkRows } from '../core/chunks.ts'
import { named, readPlain, runLast } from '../core/database.ts'
import { isOneOf, rowSet, selectFor } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import type { ItemHead } from '../datasets/items.ts'
import { experimentResults, experiments, resultJudgments } from '../schema/experiments.ts'
import { liveTraceKeys } from '../traces/live.ts'
import type { FoundValue, StoredValue } from '../traces/payloads.ts'
import { recordEnd } from './experiment-events.ts'
import { countedIn, type ExperimentRecord, takesResults } from './experiments.ts'

/** The folder of an experiment's outputs in R2. */
export const folderOf = ({ key }: Pick<ExperimentRecord, 'key'>) => `experiments/${key}` as const

/** A new result on an item. */
export interface ResultDraft {
  itemId: string
  /** 0 for an imported example. */
  traceKey: number
  outcome: Outcome
  change: Change | null
  split: string
  errorType: string | null
  wasRight: boolean | null
  durationMs: number | null
  usage: { inputTokens: number; outputTokens: number; totalTokens: number } | null
  costUsd: number | null
  traceId: string | null
  contentHash: string
  fields: readonly FieldAgreement[]
  error: string | null
  /** Null if the result is an error. */
  output: StoredValue | null
}

/** A stored result, without its values. */
export interface ResultHead {
  itemId: string
  outcome: Outcome
  change: Change | null
  wasRight: boolean | null
  contentHash: string
  writtenBy: string
  durationMs: number | null
  usage: { inputTokens: number; outputTokens: number; totalTokens: number } | null
  costUsd: number | null
  traceId: string | null
  error: string | null
  verdict: { decision: ItemVerdict; comment: string | null; userId: string; at: number } | null
  judgment: ModelJudgment | null
}

/** A model's judgment of an output. */
export interface ModelJudgment {
  /** Whether the output means the same as the expected one. Null if the model couldn't judge it. */
  same: boolean | null
  reason: string
  model: string
  at: number
}

const RESULTS = rowSet([
  'itemId',
  'traceKey',
  'outcome',
  'change',
  'split',
  'errorType',
  'wasRight',
  'durationMs',
  'inputTokens',
  'outputTokens',
  'totalTokens',
  'costUsd',
  'traceId',
  'contentHash',
  'fields',
  'error',
  'output',
  'outputRef',
])

const encodeResult = ({ usage, output, fields, wasRight, ...draft }: ResultDraft) =>
  RESULTS.encode({
    ...draft,
    wasRight: wasRight === null ? null : Number(wasRight),
    inputTokens: usage?.inputTokens,
    outputTokens: usage?.outputTokens,
    totalTokens: usage?.totalTokens,
    fields: encodeFields(fields),
    output: output?.text,
    outputRef: output?.ref,
  })

/** Encodes fields for storage: the paths of those that agree, and the paths of those that differ. */
const encodeFields = (fields: readonly FieldAgreement[]): string => {
  const { agree = [], differ = [] } = Object.groupBy(fields, ({ agrees }) => (agrees ? 'agree' : 'differ'))
  return JSON.stringify([agree, differ].map(list => list.map(({ path }) => path)))
}

function decodeFields(json: string): FieldAgreement[] {
  const lists: string[][] = JSON.parse(json)
  return lists.flatMap((paths, index) => paths.map(path => ({ path, agrees: index === 0 })))
}

/**
 * Stores results if the experiment still accepts them. An item keeps its first output, but an error can be replaced.
 * The experiment finishes when every item has an output. Returns the results that are stored for these items afterward.
 * Results from this call have `token` as `writtenBy`.
 */
export async function addResults(
  store: Store,
  experiment: ExperimentRecord,
  drafts: readonly ResultDraft[],
  { token, now }: { token: string; now: number },
): Promise<Map<string, ResultHead>> {
  const { database } = store
  const isExperiment = isThis(store, experiment)
  const insertions = [...chunkRows(drafts, encodeResult)].map(({ json }) =>
    insertResults(store, experiment, json, {
      token,
      now,
      mayWrite: and(isExperiment, takesResults(now)),
      replaceable: sql`${experimentResults.outcome} = 'error' and ${experimentResults.contentHash} <> excluded.content_hash`,
    }),
  )
  const ofExperiment = eq(experimentResults.experimentKey, experiment.key)
  const written = sql`(select 1 from ${experimentResults} where ${and(ofExperiment, eq(experimentResults.writtenBy, token))})`
  const ids = drafts.map(({ itemId }) => itemId)
  const isComplete = and(
    isExperiment,
    takesResults(now),
    sql`${experiments.outputs} + ${experiments.removed} >= ${experiments.items}`,
  )
  const rows = await runLast(database, [
    ...insertions,
    database
      .update(experiments)
      .set({ ...countedIn(experiment), activeAt: now, revision: token })
      .where(and(isExperiment, takesResults(now), sql`exists ${written}`)),
    ...recordEnd(store, experiment, isComplete, { state: 'finished', now, reason: null, by: null }),
    database.update(experiments).set({ state: 'finished', finishedAt: now }).where(isComplete),
    selectHeads(store, experiment, ids),
  ])
  return headsByItem(rows)
}

/** Stores an error for each of these items that has no result in a finished experiment. */
export async function addMissing(
  store: Store,
  experiment: ExperimentRecord,
  heads: readonly ItemHead[],
): Promise<void> {
  const mayWrite = and(isThis(store, experiment), eq(experiments.state, 'finished'), isNull(experiments.tally))
  const drafts = heads.map(({ id, place: [, traceKey], split, errorType }) => ({
    ...NO_RESULT,
    error: experiment.endReason ?? NO_RESULT.error,
    itemId: id,
    traceKey,
    split,
    errorType,
  }))
  const token = newId()
  for (const { json } of chunkRows(drafts, encodeResult)) {
    await insertResults(store, experiment, json, {
      token,
      now: experiment.finishedAt ?? 0,
      mayWrite,
      replaceable: sql`false`,
    })
  }
}

const NO_RESULT = {
  outcome: 'error',
  change: null,
  wasRight: null,
  durationMs: null,
  usage: null,
  costUsd: null,
  traceId: null,
  contentHash: '',
  fields: [],
  error: 'No result had arrived when the experiment was finished',
  output: null,
} as const

function insertResults(
  { database }: Store,
  { key }: ExperimentRecord,
  json: string,
  { token, now, mayWrite, replaceable }: { token: string; now: number; mayWrite: SQL | undefined; replaceable: SQL },
) {
  const { row } = RESULTS
  const { experimentKey: _, itemId: __, ...replaced } = getTableColumns(experimentResults)
  const excluded = Object.entries(replaced).map(([name, column]) => [name, sql.raw(`excluded.${column.name}`)] as const)
  return database
    .insert(experimentResults)
    .select(
      selectFor(
        experimentResults,
        {
          experimentKey: key,
          itemId: row.itemId,
          traceKey: row.traceKey,
          outcome: row.outcome,
          change: row.change,
          split: row.split,
          errorType: row.errorType,
          wasRight: row.wasRight,
          createdAt: now,
          durationMs: row.durationMs,
          inputTokens: row.inputTokens,
          outputTokens: row.outputTokens,
          totalTokens: row.totalTokens,
          costUsd: row.costUsd,
          traceId: row.traceId,
          verdict: null,
          reviewedBy: null,
          reviewedAt: null,
          writtenBy: token,
          contentHash: row.contentHash,
          fields: row.fields,
          comment: null,
          error: row.error,
          output: row.output,
          outputRef: row.outputRef,
        },
        sql`from ${RESULTS.fromWide(json)} where exists (select 1 from ${experiments} where ${mayWrite})`,
      ),
    )
    .onConflictDoUpdate({
      target: [experimentResults.experimentKey, experimentResults.itemId],
      set: Object.fromEntries(excluded),
      setWhere: replaceable,
    })
}

/* D1 returns flags as numbers. */
const WAS_RIGHT = sql<number | null>`${experimentResults.wasRight}`.as('wasRight')
const SAID_SAME = sql<number | null>`${resultJudgments.saidSame}`.as('saidSame')

const HEAD = {
  ...named({
    itemId: experimentResults.itemId,
    outcome: experimentResults.outcome,
    change: experimentResults.change,
    contentHash: experimentResults.contentHash,
    writtenBy: experimentResults.writtenBy,
    durationMs: experimentResults.durationMs,
    inputTokens: experimentResults.inputTokens,
    outputTokens: experimentResults.outputTokens,
    totalTokens: experimentResults.totalTokens,
    costUsd: experimentResults.costUsd,
    traceId: experimentResults.traceId,
    verdict: experimentResults.verdict,
    reviewedBy: experimentResults.reviewedBy,
    reviewedAt: experimentResults.reviewedAt,
    comment: experimentResults.comment,
    error: experimentResults.error,
  }),
  wasRight: WAS_RIGHT,
  saidSame: SAID_SAME,
  reason: sql<string | null>`${resultJudgments.reason}`.as('reason'),
  model: sql<string | null>`${resultJudgments.model}`.as('model'),
  judgedAt: sql<number | null>`${resultJudgments.judgedAt}`.as('judgedAt'),
}

/** Joins a result's row with a model's judgment of it. */
const isJudgmentOf = and(
  eq(resultJudgments.experimentKey, experimentResults.experimentKey),
  eq(resultJudgments.itemId, experimentResults.itemId),
)

type HeadRow = Awaited<ReturnType<typeof selectHeads>>[number]

const selectHeads = (store: Store, experiment: ExperimentRecord, itemIds: readonly string[]) =>
  store.database
    .select(HEAD)
    .from(experimentResults)
    .leftJoin(resultJudgments, isJudgmentOf)
    .where(ofItems(experiment, itemIds))

const ofItems = (
  { key }: Pick<ExperimentRecord, 'key'>,
  itemIds: readonly string[],
  table: typeof experimentResults | typeof resultJudgments = experimentResults,
) => and(eq(table.experimentKey, key), isOneOf(table.itemId, itemIds))

const headsByItem = (rows: readonly HeadRow[]): Map<string, ResultHead> =>
  new Map(rows.map(row => [row.itemId, toHead(row)]))

function toHead(row: HeadRow): ResultHead {
  const { verdict, reviewedBy, reviewedAt, comment, inputTokens, outputTokens, totalTokens, wasRight, ...rest } = row
  const { saidSame, reason, model, judgedAt, ...head } = rest
  return {
    ...head,
    wasRight: flagOf(wasRight),
    judgment:
      judgedAt === null ? null : { same: flagOf(saidSame), reason: reason ?? '', model: model ?? '', at: judgedAt },
    usage: usageOf({ inputTokens, outputTokens, totalTokens }),
    verdict: verdict && { decision: verdict, comment, userId: reviewedBy ?? '', at: reviewedAt ?? 0 },
  }
}

const flagOf = (column: number | null): boolean | null => (column === null ? null : column === 1)

/** The usage in a row. Either all of its columns are null, or none are. */
const usageOf = (row: { inputTokens: number | null; outputTokens: number | null; totalTokens: number | null }) =>
  row.totalTokens === null
    ? null
    : {
        inputTokens: row.inputTokens ?? 0,
        outputTokens: row.outputTokens ?? 0,
        totalTokens: row.totalTokens,
      }

/** The stored results on these items, by item. */
export async function findResults(
  store: Store,
  experiment: ExperimentRecord,
  itemIds: readonly string[],
): Promise<Map<string, ResultHead>> {
  const [rows] = await readPlain(store.database, [selectHeads(store, experiment, itemIds)])
  return headsByItem(rows)
}

/** The items that have a result. */
export async function findResultIds({ database }: Store, { key }: ExperimentRecord): Promise<Set<string>> {
  const [rows] = await readPlain(database, [
    database
      .select(named({ itemId: experimentResults.itemId }))
      .from(experimentResults)
      .where(eq(experimentResults.experimentKey, key)),
  ])
  return new Set(rows.map(({ itemId }) => itemId))
}

/** The fields that lists filter results by. */
export interface ResultFacts {
  outcome: Outcome
  change: Change | null
  /** Whether the baseline is right. Null if that's unknown. */
  wasRight: boolean | null
  /** A person's decision on the output. */
  verdict: ItemVerdict | null
  /** Whether the output means the same as the expected one, according to a model. */
  saidSame: boolean | null
}

/** The outcomes and changes of the results on these items, by item. */
export async function findOutcomes(
  store: Store,
  { key }: ExperimentRecord,
  itemIds: readonly string[] | undefined,
): Promise<Map<string, ResultFacts>> {
  const [rows] = await readPlain(store.database, [
    store.database
      .select({
        ...named({
          itemId: experimentResults.itemId,
          outcome: experimentResults.outcome,
          change: experimentResults.change,
          verdict: experimentResults.verdict,
        }),
        wasRight: WAS_RIGHT,
        saidSame: SAID_SAME,
      })
      .from(experimentResults)
      .leftJoin(resultJudgments, isJudgmentOf)
      .where(itemIds === undefined ? eq(experimentResults.experimentKey, key) : ofItems({ key }, itemIds)),
  ])
  return new Map(
    rows.map(({ itemId, wasRight, saidSame, ...result }) => [
      itemId,
      { ...result, wasRight: flagOf(wasRight), saidSame: flagOf(saidSame) },
    ]),
  )
}

/** The outputs of the results on these items, by item. Items without an output are missing. */
export async function findOutputs(
  store: Store,
  experiment: ExperimentRecord,
  itemIds: readonly string[],
): Promise<Map<string, FoundValue>> {
  const [rows] = await readPlain(store.database, [
    store.database
      .select(
        named({
          itemId: experimentResults.itemId,
          text: experimentResults.output,
          ref: experimentResults.outputRef,
        }),
      )
      .from(experimentResults)
      .where(ofItems(experiment, itemIds)),
  ])
  return new Map(
    rows.flatMap(({ itemId, text, ref }) =>
      text === null ? [] : [[itemId, { text, ref, folder: `${folderOf(experiment)}/${itemId}` as const }] as const],
    ),
  )
}

/** Reads all of an experiment's results, in the form that tallies need, a limited number at a time. */
export async function* readCounted(
  store: Store,
  { key }: ExperimentRecord,
): AsyncGenerator<(CountedResult & { itemId: string })[]> {
  for (let after = ''; ; ) {
    const isNext = and(eq(experimentResults.experimentKey, key), gt(experimentResults.itemId, after))
    const counted = await selectCounted(store, isNext, COUNTED_RESULTS)
    yield counted
    const last = counted.at(-1)
    if (!last || counted.length < COUNTED_RESULTS) return
    after = last.itemId
  }
}

/** The results on these items, in the form that tallies need, by item. */
export async function findCounted(
  store: Store,
  experiment: ExperimentRecord,
  itemIds: readonly string[],
): Promise<Map<string, CountedResult & { contentHash: string }>> {
  const counted = await selectCounted(store, ofItems(experiment, itemIds), itemIds.length)
  return new Map(counted.map(result => [result.itemId, result]))
}

async function selectCounted({ database }: Store, condition: SQL | undefined, limit: number) {
  const [rows] = await readPlain(database, [
    database
      .select({
        ...named({
          itemId: experimentResults.itemId,
          contentHash: experimentResults.contentHash,
          split: experimentResults.split,
          errorType: experimentResults.errorType,
          outcome: experimentResults.outcome,
          change: experimentResults.change,
          fields: experimentResults.fields,
          durationMs: experimentResults.durationMs,
          inputTokens: experimentResults.inputTokens,
          outputTokens: experimentResults.outputTokens,
          totalTokens: experimentResults.totalTokens,
          costUsd: experimentResults.costUsd,
        }),
        wasRight: WAS_RIGHT,
        saidSame: SAID_SAME,
      })
      .from(experimentResults)
      .leftJoin(resultJudgments, isJudgmentOf)
      .where(condition)
      .orderBy(asc(experimentResults.itemId))
      .limit(limit),
  ])
  return rows.map(({ inputTokens, outputTokens, totalTokens, fields, wasRight, saidSame, ...row }) => ({
    ...row,
    fields: decodeFields(fields),
    usage: usageOf({ inputTokens, outputTokens, totalTokens }),
    wasRight: flagOf(wasRight),
    saidSame: flagOf(saidSame),
  }))
}

/**
 * The statement that stores an experiment's tally along with a change to its results, unless somebody else has changed
 * the results since they were read. `tally` is null as long as the experiment has none. The other statements in the
 * batch must check that the revision is `token`.
 */
export const replaceTally = (
  { database }: Store,
  { revision }: Pick<ExperimentRecord, 'revision'>,
  { token, tally }: { token: string; tally: StoredTally | null },
  ...conditions: (SQL | undefined)[]
) =>
  database
    .update(experiments)
    .set({ revision: token, tally: tally && JSON.stringify(tally) })
    .where(
      and(
        ...conditions,
        eq(experiments.revision, revision),
        // Another request may have stored a tally that doesn't include this change.
        sql`(${experiments.tally} is null) = ${tally === null ? 1 : 0}`,
      ),
    )

/** A person's decision on a result, and the outcome that follows from it. */
export interface VerdictDraft {
  itemId: string
  verdict: ItemVerdict
  comment: string | null
  userId: string
  at: number
  outcome: Outcome
  change: Change | null
}

/**
 * Stores a person's decision on a result along with the experiment's tally, unless the experiment's results have
 * changed since they were read. Returns whether the decision was stored. `tally` is null as long as the experiment has
 * none.
 */
export async function saveVerdict(
  store: Store,
  experiment: ExperimentRecord,
  { itemId, verdict, comment, userId, at, outcome, change }: VerdictDraft,
  { token, tally }: { token: string; tally: StoredTally | null },
): Promise<boolean> {
  const { database } = store
  const { key } = experiment
  const isExperiment = isThis(store, experiment)
  const isOurs = and(isExperiment, eq(experiments.revision, token))
  const [, , , rows] = await database.batch([
    replaceTally(store, experiment, { token, tally }, isExperiment),
    database
      .update(experimentResults)
      .set({ verdict, comment, reviewedBy: userId, reviewedAt: at, outcome, change })
      .where(
        and(
          eq(experimentResults.experimentKey, key),
          eq(experimentResults.itemId, itemId),
          sql`exists (select 1 from ${experiments} where ${isOurs})`,
        ),
      ),
    database
      .update(resultJudgments)
      .set({ verdict })
      .where(
        and(
          eq(resultJudgments.experimentKey, key),
          eq(resultJudgments.itemId, itemId),
          sql`exists (select 1 from ${experiments} where ${isOurs})`,
        ),
      ),
    database.select({ key: experiments.key }).from(experiments).where(isOurs),
  ])
  return rows.length > 0
}

/**
 * Deletes the results that this call stored on items whose traces are gone, because a purge that ran in the meantime
 * didn't find these results. Returns the ids of the items.
 */
export async function withdrawResults(
  store: Store,
  experiment: ExperimentRecord,
  heads: readonly ItemHead[],
): Promise<Set<string>> {
  const { database } = store
  const groups = [...Map.groupBy(heads, ({ shard }) => shard)]
  const gone = (await Promise.all(groups.map(([shard, some]) => findGone(store.in(shard), some)))).flat()
  if (gone.length > 0) {
    await database.batch([
      database.delete(resultJudgments).where(ofItems(experiment, gone, resultJudgments)),
      database.delete(experimentResults).where(ofItems(experiment, gone)),
      database
        .update(experiments)
        .set({ ...countedIn(experiment), revision: newId() })
        .where(isThis(store, experiment)),
    ])
  }
  return new Set(gone)
}

/** The ids of the items whose traces are gone. */
async function findGone(store: Store, heads: readonly ItemHead[]): Promise<string[]> {
  const traceIds = heads.flatMap(({ traceId }) => traceId ?? [])
  // The control database may have no traces.
  const live = traceIds.length === 0 ? new Map() : await liveTraceKeys(store, traceIds)
  return heads.flatMap(({ id, traceId }) => (traceId !== null && !live.has(traceId) ? [id] : []))
}

/** Whether a row of `experiments` is the given experiment's. */
const isThis = ({ organization }: Store, { key }: ExperimentRecord) =>
  and(eq(experiments.key, key), eq(experiments.organizationKey, organization.key))
