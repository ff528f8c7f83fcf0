import { and, asc, eq, isNotNull, lte, type SQL, sql } from 'drizzle-orm'
import {
  BUCKET_GROWTH,
  DURATION_BUCKETS,
  type DurationHistogram,
  sumHistograms,
} from '../../domain/duration-histogram.ts'
import { firstKeyAt } from '../../domain/ids.ts'
import type { CountProgress, StepOutputs } from '../../domain/output-count.ts'
import type { StepUse } from '../../domain/step-use.ts'
import {
  COUNT_LEASE_MS,
  COUNTED_DAYS,
  COUNTED_TRACES,
  DAY_MS,
  MAX_COUNTED_VERSIONS,
  NOTED_TRACES,
  NOTING_DELAY_MS,
} from '../../limits.ts'
import { chunkRows } from '../core/chunks.ts'
import { named, readPlain } from '../core/database.ts'
import { hasCostBelow, isModelCall, isRepeated } from '../core/model-calls.ts'
import { hasOutput, isReviewable, isReviewed, ofTrace } from '../core/reviewable.ts'
import { rowSet, selectFor } from '../core/rows.ts'
import type { Store, UnscopedStore } from '../core/store.ts'
import { findDuePass, savePass } from '../core/sweeps.ts'
import { projects } from '../schema/accounts.ts'
import { countedDays, outputDays, useDays } from '../schema/counts.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'

/*
 * Cron counts the outputs of each day's traces, so ingestion needs no extra writes. A trace's key contains its time of
 * arrival, so cron can find new traces by their keys and recount their days. Days without changes aren't counted again.
 */

/** The day of a time. The time may be before 1970 and may have a fraction. */
const dayOf = (time: SQL): SQL => sql`cast(floor(${time} / ${sql.raw(`${DAY_MS}.0`)}) as integer)`

/** The columns to set if a day changes. */
const changedAt = (now: number) => ({
  isChanged: true,
  dueAt: sql`max(${now}, ${countedDays.restsUntil})`,
})

/**
 * Whether the project isn't being purged. Counts saved during a purge would never be removed. Reads no rows unless a
 * project is being purged.
 */
const hasExistingProject = (projectKey: SQL): SQL =>
  sql`${projectKey} not in (select deleted.key from ${projects} as deleted where deleted.purge_due_at > 0)`

/**
 * Skips days that are already marked as changed. A mark that's set while a count is in progress stays for the next
 * count.
 */
const isUnmarked = sql`${countedDays.isChanged} = 0`

/**
 * The statement that schedules days to be counted again. It writes one or two rows for each day that isn't already
 * scheduled. `ofTraces` selects the `project_key` and `timestamp` of the traces that changed. If `when` is `at once`,
 * as for explicit deletions, the days skip the rest period. The amount of counting per minute is still limited.
 */
export const markDays = (
  { database }: Pick<Store, 'database'>,
  ofTraces: SQL,
  now: number,
  when: 'rested' | 'at once' = 'rested',
) =>
  database
    .update(countedDays)
    .set(when === 'rested' ? changedAt(Math.floor(now)) : { isChanged: true, dueAt: Math.floor(now) })
    .where(
      sql`${when === 'rested' ? isUnmarked : sql`(${isUnmarked} or ${countedDays.dueAt} > ${Math.floor(now)})`}
        and (project_key, day) in (
        select changed.project_key, ${dayOf(sql`changed.timestamp`)} from (${ofTraces}) as changed)`,
    )

/**
 * The statement that freezes the token counts, costs, and durations of days, because retention deletes some of the
 * days' traces. `ofTraces` is as in `markDays`.
 */
export const keepUse = ({ database }: Pick<Store, 'database'>, ofTraces: SQL) =>
  database
    .update(countedDays)
    .set({ isUseKept: true })
    .where(
      sql`${countedDays.isUseKept} = 0 and (project_key, day) in (
        select expired.project_key, ${dayOf(sql`expired.timestamp`)} from (${ofTraces}) as expired)`,
    )

/** Schedules the days of traces that have arrived since the last call, a limited number of traces at a time. */
export async function scheduleNewTraces(unscoped: UnscopedStore, now: number): Promise<void> {
  const { database } = unscoped
  const cursor = await findDuePass(unscoped, 'outputs', now)
  if (cursor === undefined) return
  const fresh = sql`select ${traces.key}, ${traces.projectKey}, ${traces.timestamp} from ${traces}
    where ${traces.key} > ${Number(cursor)} and ${traces.key} < ${firstKeyAt(now - NOTING_DELAY_MS)}
    order by ${traces.key} limit ${NOTED_TRACES}`
  const [[noted]] = await database.batch([
    database.select({ last: sql<number | null>`max(scanned.key)`.as('last') }).from(sql`(${fresh}) as scanned`),
    database
      .insert(countedDays)
      .select(
        // Reduce the traces to days first. Checking the project of each trace would read every trace a second time.
        selectFor(
          countedDays,
          {
            projectKey: sql`scanned.project_key`,
            day: sql`scanned.day`,
            countedAt: null,
            restsUntil: 0,
            dueAt: now,
            isChanged: 1,
            progress: null,
            isUseKept: 0,
          },
          sql`from (select distinct scanned.project_key, ${dayOf(sql`scanned.timestamp`)} as day
              from (${fresh}) as scanned) as scanned
            where ${hasExistingProject(sql`scanned.project_key`)}`,
        ),
      )
      .onConflictDoUpdate({
        target: [countedDays.projectKey, countedDays.day],
        set: changedAt(now),
        setWhere: isUnmarked,
      }),
  ])
  if (noted?.last) await savePass(unscoped, 'outputs', { cursor: String(noted.last), dueAt: now })
}

/** A day that is due for counting. */
export interface DueDay {
  projectKey: number
  day: number
  countedAt: number | null
  progress: string | null
  isUseKept: boolean
}

/** Takes the days that have waited longest and postpones each one, so that it's taken again if this run fails. */
export async function takeDueDays({ database }: UnscopedStore, now: number): Promise<DueDay[]> {
  const due = database
    .select({ projectKey: countedDays.projectKey, day: countedDays.day })
    .from(countedDays)
    .where(and(isNotNull(countedDays.dueAt), lte(countedDays.dueAt, now)))
    .orderBy(asc(countedDays.dueAt))
    .limit(COUNTED_DAYS)
  const { projectKey, day, countedAt, progress, isUseKept } = countedDays
  return database
    .update(countedDays)
    .set({
      dueAt: now + COUNT_LEASE_MS,
      // Changes from here on are left for the next count.
      isChanged: sql`iif(${progress} is null, 0, ${countedDays.isChanged})`,
    })
    .where(sql`(project_key, day) in ${due}`)
    .returning({ projectKey, day, countedAt, progress, isUseKept })
}

/** The result of counting the next piece of a day. */
export interface Piece {
  /** The counts of the traces in this piece. A step with several versions has several rows. */
  steps: StepOutputs[]
  uses: StepUse[]
  traces: number
  /** The last trace of the piece. Null if there are no more traces. */
  after: CountProgress['after'] | null
  /** The day's stored counts. */
  stored: StepOutputs[]
  storedUses: StepUse[]
}

/** The bucket of a span's duration, as `bucketOf` defines it. Null if the duration is unknown. */
const durationBucket = sql`case when ${spans.durationMs} < 1 then 0 else min(${sql.raw(String(DURATION_BUCKETS - 1))},
  1 + cast(floor(ln(${spans.durationMs}) / ln(${sql.raw(String(BUCKET_GROWTH))})) as integer)) end`

const DUE_DAYS = rowSet(['projectKey', 'day', 'end', 'afterTime', 'afterId'])

/** Counts the next traces of several days in one round trip. */
export async function countPieces(
  { database }: UnscopedStore,
  days: readonly (DueDay & { after: CountProgress['after'] | undefined })[],
): Promise<Piece[]> {
  if (days.length === 0) return []
  const limit = Math.floor(COUNTED_TRACES / days.length)
  const rows = days.map(({ projectKey, day, after }) => {
    const start = day * DAY_MS
    return { projectKey, day, end: start + DAY_MS, afterTime: after?.timestamp ?? start, afterId: after?.id ?? '' }
  })
  const items = DUE_DAYS.from(DUE_DAYS.encodeAll(rows))
  const { row } = DUE_DAYS
  const piece = (column: SQL, bounds: SQL, day = row) => sql`
    select ${column} from ${traces} as piece
    where piece.deleted_at is null and piece.project_key = ${day.projectKey}
      and piece.timestamp >= ${day.afterTime} and piece.timestamp < ${day.end}
      and (piece.timestamp, piece.id) > (${day.afterTime}, ${day.afterId})
    order by piece.timestamp, piece.id ${bounds}`
  const whole = sql`limit ${limit}`
  const last = (column: SQL) =>
    sql`iif(scanned.traces = ${limit}, (${piece(column, sql`limit 1 offset ${limit - 1}`, DUE_DAYS.rowOf('scanned'))}), null)`
  const place = sql<number>`item.key`.as('place')
  const ofVersion = (column: 'step_id' | 'version') =>
    sql<string>`iif(scanned.number > ${MAX_COUNTED_VERSIONS}, '', scanned.${sql.raw(column)})`
  const [stepId, promptVersionId] = [ofVersion('step_id'), ofVersion('version')]
  const [counts, pieces, stored, storedUses] = await readPlain(database, [
    database
      .select({
        place: sql<number>`scanned.place`.as('place'),
        stepId: stepId.as('stepId'),
        promptVersionId: promptVersionId.as('promptVersionId'),
        outputs: sql<number>`sum(scanned.outputs)`.as('outputs'),
        reviewed: sql<number>`sum(scanned.reviewed)`.as('reviewed'),
        inputTokens: sql<number | null>`sum(scanned.input_tokens)`.as('inputTokens'),
        outputTokens: sql<number | null>`sum(scanned.output_tokens)`.as('outputTokens'),
        costNanoUsd: sql<number | null>`sum(scanned.cost_nano_usd)`.as('costNanoUsd'),
        durations: sql<string>`json_group_array(json(scanned.durations))`.as('durations'),
      })
      .from(
        sql`(
          select scanned.*, row_number() over (partition by scanned.place) as number
          from (
            select scanned.place, scanned.step_id, scanned.version, sum(scanned.outputs) as outputs,
              sum(scanned.reviewed) as reviewed, sum(scanned.input_tokens) as input_tokens,
              sum(scanned.output_tokens) as output_tokens, sum(scanned.cost_nano_usd) as cost_nano_usd,
              json_group_object(scanned.bucket, scanned.timed) filter (where scanned.bucket is not null) as durations
            from (
              select scanned.place, scanned.step_id, scanned.version, scanned.bucket, sum(scanned.is_output) as outputs,
                sum(scanned.is_output and scanned.is_reviewed) as reviewed, count(*) as timed,
                sum(iif(scanned.is_repeated, null, scanned.usage ->> 'inputTokens')) as input_tokens,
                sum(iif(scanned.is_repeated, null, scanned.usage ->> 'outputTokens')) as output_tokens,
                -- As whole numbers, the costs have the same sum in any order.
                sum(round(iif(scanned.is_repeated and scanned.has_cost_below, null, scanned.cost_usd) * 1e9)) as cost_nano_usd
              from (
                select item.key as place, ${spans.stepId} as step_id, coalesce(${spans.promptVersionId}, '') as version,
                  ${durationBucket} as bucket, (${isReviewable} and ${hasOutput}) as is_output, ${isReviewed} as is_reviewed,
                  ${spans.usage} as usage, ${spans.costUsd} as cost_usd,
                  iif(${spans.usage} is null, 0, ${isRepeated('spans')}) as is_repeated,
                  iif(${spans.costUsd} is null, 0, ${hasCostBelow('spans')}) as has_cost_below
                from ${items} cross join ${traces} cross join ${spans}
                where ${traces.key} in (${piece(sql`piece.key`, whole)}) and ${ofTrace}
                  and ((${isReviewable} and ${hasOutput}) or ${isModelCall('spans')})
                -- The limit keeps SQLite from inlining this query, which would compute each column again for each use.
                limit -1) as scanned
              group by scanned.place, scanned.step_id, scanned.version, scanned.bucket) as scanned
            group by scanned.place, scanned.step_id, scanned.version) as scanned) as scanned`,
      )
      .groupBy(sql`scanned.place`, stepId, promptVersionId),
    // The `group by` keeps SQLite from inlining the subquery. Otherwise, SQLite would count again for each reference to
    // the count.
    database
      .select({
        place: sql<number>`scanned.place`.as('place'),
        traces: sql<number>`scanned.traces`.as('traces'),
        timestamp: sql<number | null>`${last(sql`piece.timestamp`)}`.as('timestamp'),
        id: sql<string | null>`${last(sql`piece.id`)}`.as('id'),
      })
      .from(
        sql`(select item.key as place, item.value as value,
          (select count(*) from (${piece(sql`1`, whole)})) as traces from ${items} group by item.key) as scanned`,
      ),
    database
      .select({
        place,
        ...named({ stepId: outputDays.stepId, outputs: outputDays.outputs, reviewed: outputDays.reviewed }),
      })
      .from(items)
      .crossJoin(outputDays)
      .where(and(eq(outputDays.projectKey, row.projectKey), eq(outputDays.day, row.day))),
    database
      .select({
        place,
        ...named({
          stepId: useDays.stepId,
          promptVersionId: useDays.promptVersionId,
          inputTokens: useDays.inputTokens,
          outputTokens: useDays.outputTokens,
          costNanoUsd: useDays.costNanoUsd,
          durations: useDays.durations,
        }),
      })
      .from(items)
      .crossJoin(useDays)
      .where(and(eq(useDays.projectKey, row.projectKey), eq(useDays.day, row.day))),
  ])
  const countsOf = Map.groupBy(counts, row => row.place)
  const storedOf = Map.groupBy(stored, row => row.place)
  const storedUsesOf = Map.groupBy(storedUses, row => row.place)
  const pieceOf = new Map(pieces.map(row => [row.place, row]))
  return days.map((_, index) => {
    const { traces = 0, timestamp = null, id = null } = pieceOf.get(index) ?? {}
    return {
      steps: (countsOf.get(index) ?? []).filter(({ outputs }) => outputs > 0).map(toOutputs),
      uses: (countsOf.get(index) ?? []).map(row => toUse(row, sumHistograms(JSON.parse(row.durations)))),
      traces,
      after: timestamp === null || id === null ? null : { timestamp, id },
      stored: storedOf.get(index) ?? [],
      storedUses: (storedUsesOf.get(index) ?? []).map(row => toUse(row, JSON.parse(row.durations))),
    }
  })
}

const toOutputs = ({ stepId, outputs, reviewed }: StepOutputs): StepOutputs => ({ stepId, outputs, reviewed })

const toUse = (row: Omit<StepUse, 'durations'>, durations: DurationHistogram): StepUse => ({
  stepId: row.stepId,
  promptVersionId: row.promptVersionId,
  inputTokens: row.inputTokens,
  outputTokens: row.outputTokens,
  costNanoUsd: row.costNanoUsd,
  durations,
})

/** What to store for a day after one of its pieces has been counted. */
export interface CountedPiece {
  day: DueDay
  /** Where the count continues. Null if the count is complete. */
  progress: CountProgress | null
  countedAt: number | null
  restsUntil: number
  /** When the day is counted again if nothing changes in the meantime. */
  dueAt: number | null
  /** The counts to store, and the steps whose counts to delete. */
  changed: readonly StepOutputs[]
  gone: readonly string[]
  changedUses: readonly StepUse[]
  goneUses: readonly StepUse[]
}

const STEPS = rowSet(['projectKey', 'day', 'stepId'])
const COUNTS = rowSet(['projectKey', 'day', 'stepId', 'outputs', 'reviewed'])
const USES = rowSet([
  'projectKey',
  'day',
  'stepId',
  'promptVersionId',
  'inputTokens',
  'outputTokens',
  'costNanoUsd',
  'durations',
])
const DAYS = rowSet(['projectKey', 'day', 'progressBefore', 'progress', 'countedAt', 'restsUntil', 'dueAt'])
const placeOf = ({ projectKey, day }: DueDay) => ({ projectKey, day })

/**
 * Stores the counts of pieces. If another run has continued counting a day, stores only the values that both runs agree
 * on.
 */
export async function saveCounts({ database }: UnscopedStore, counted: readonly CountedPiece[]): Promise<void> {
  const changed = counted.flatMap(({ day, changed }) =>
    changed.map(({ stepId, outputs, reviewed }) => ({ ...placeOf(day), stepId, outputs, reviewed })),
  )
  const gone = counted.flatMap(({ day, gone }) => gone.map(stepId => ({ ...placeOf(day), stepId })))
  const days = chunkRows(counted, ({ day, progress, countedAt, restsUntil, dueAt }) =>
    DAYS.encode({
      ...placeOf(day),
      progressBefore: day.progress,
      progress: progress && JSON.stringify(progress),
      countedAt,
      restsUntil,
      dueAt,
    }),
  )
  const { row } = DAYS
  const uses = (pick: (piece: CountedPiece) => readonly StepUse[]) => {
    const all = counted.flatMap(piece => pick(piece).map(use => ({ ...placeOf(piece.day), ...use })))
    const chunks = chunkRows(all, use => USES.encode({ ...use, durations: JSON.stringify(use.durations) }))
    return Array.from(chunks, ({ json }) => USES.from(json))
  }
  // Retention may have deleted some of a day's traces since the day was read.
  const isUseCounted = sql`exists (
    select 1 from ${countedDays} where ${countedDays.projectKey} = ${USES.row.projectKey}
      and ${countedDays.day} = ${USES.row.day} and ${countedDays.isUseKept} = 0)`
  await database.batch([
    database
      .insert(outputDays)
      .select(
        selectFor(
          outputDays,
          COUNTS.row,
          sql`from ${COUNTS.from(COUNTS.encodeAll(changed))} where ${hasExistingProject(COUNTS.row.projectKey)}`,
        ),
      )
      .onConflictDoUpdate({
        target: [outputDays.projectKey, outputDays.day, outputDays.stepId],
        set: { outputs: sql`excluded.outputs`, reviewed: sql`excluded.reviewed` },
      }),
    database.delete(outputDays).where(
      sql`(project_key, day, step_id) in (
        select ${STEPS.row.projectKey}, ${STEPS.row.day}, ${STEPS.row.stepId} from ${STEPS.from(STEPS.encodeAll(gone))})`,
    ),
    ...uses(({ goneUses }) => goneUses).map(gone =>
      database.delete(useDays).where(
        sql`(project_key, day, step_id, prompt_version_id) in (
          select ${USES.row.projectKey}, ${USES.row.day}, ${USES.row.stepId}, ${USES.row.promptVersionId}
          from ${gone} where ${isUseCounted})`,
      ),
    ),
    ...uses(({ changedUses }) => changedUses).map(changed =>
      database
        .insert(useDays)
        .select(
          selectFor(
            useDays,
            USES.row,
            sql`from ${changed} where ${isUseCounted} and ${hasExistingProject(USES.row.projectKey)}`,
          ),
        )
        .onConflictDoUpdate({
          target: [useDays.projectKey, useDays.day, useDays.stepId, useDays.promptVersionId],
          set: {
            inputTokens: sql`excluded.input_tokens`,
            outputTokens: sql`excluded.output_tokens`,
            costNanoUsd: sql`excluded.cost_nano_usd`,
            durations: sql`excluded.durations`,
          },
        }),
    ),
    ...Array.from(days, ({ json }) =>
      database
        .update(countedDays)
        .set({
          progress: row.progress,
          countedAt: row.countedAt,
          restsUntil: row.restsUntil,
          dueAt: sql`iif(${row.progress} is null and ${countedDays.isChanged} = 1, ${row.restsUntil}, ${row.dueAt})`,
        })
        .from(DAYS.from(json))
        .where(
          sql`${countedDays.projectKey} = ${row.projectKey} and ${countedDays.day} = ${row.day}
            and ${countedDays.progress} is ${row.progressBefore}`,
        ),
    ),
  ])
}
