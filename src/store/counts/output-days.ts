import { and, asc, eq, isNotNull, lte, type SQL, sql } from 'drizzle-orm'
import { firstKeyAt } from '../../domain/ids.ts'
import type { CountProgress, StepOutputs } from '../../domain/output-count.ts'
import {
  COUNT_LEASE_MS,
  COUNTED_DAYS,
  COUNTED_TRACES,
  DAY_MS,
  MAX_COUNTED_STEPS,
  NOTED_TRACES,
  NOTING_DELAY_MS,
} from '../../limits.ts'
import { named, readPlain } from '../core/database.ts'
import { hasOutput, isReviewable, isReviewed, ofTrace } from '../core/reviewable.ts'
import { rowSet, selectFor } from '../core/rows.ts'
import type { Store, UnscopedStore } from '../core/store.ts'
import { findDuePass, savePass } from '../core/sweeps.ts'
import { projects } from '../schema/accounts.ts'
import { countedDays, outputDays } from '../schema/counts.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'

/*
 * Cron counts the outputs of each day's traces, so ingestion needs no extra writes. A trace's key contains the time, so
 * the keys show which days have new traces. Days without changes aren't counted again.
 */

/** The day of a time, which may be before 1970 and have a fraction. */
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

/** Skips days that are already marked. If a count is in progress, the mark stays for the next count. */
const isUnmarked = sql`${countedDays.isChanged} = 0`

/**
 * The statement that schedules days to be counted again. It writes one or two rows for each day that isn't already
 * scheduled. `ofTraces` selects the `project_key` and `timestamp` of the traces that changed. `at once` skips the rest
 * period, for explicit deletions. The total counted per minute is still limited.
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

/** Schedules the days of traces that have arrived since the last call, some at a time. */
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
        // Group by day first, because checking each trace's project would read every trace once more.
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
}

/** Takes the days that have waited longest and postpones each, so they're taken again if this run dies. */
export async function takeDueDays({ database }: UnscopedStore, now: number): Promise<DueDay[]> {
  const due = database
    .select({ projectKey: countedDays.projectKey, day: countedDays.day })
    .from(countedDays)
    .where(and(isNotNull(countedDays.dueAt), lte(countedDays.dueAt, now)))
    .orderBy(asc(countedDays.dueAt))
    .limit(COUNTED_DAYS)
  const { projectKey, day, countedAt, progress } = countedDays
  return database
    .update(countedDays)
    .set({
      dueAt: now + COUNT_LEASE_MS,
      // From here on, changes are for the next count.
      isChanged: sql`iif(${progress} is null, 0, ${countedDays.isChanged})`,
    })
    .where(sql`(project_key, day) in ${due}`)
    .returning({ projectKey, day, countedAt, progress })
}

/** The result of counting the next piece of a day. */
export interface Piece {
  /** The output counts of the traces in this piece. */
  steps: StepOutputs[]
  traces: number
  /** The last trace of the piece. Null if there are no more traces. */
  after: CountProgress['after'] | null
  /** The day's stored counts. */
  stored: StepOutputs[]
}

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
  const stepId = sql<string>`iif(scanned.number > ${MAX_COUNTED_STEPS}, '', scanned.step_id)`
  const place = sql<number>`item.key`.as('place')
  const [counts, pieces, stored] = await readPlain(database, [
    database
      .select({
        place: sql<number>`scanned.place`.as('place'),
        stepId: stepId.as('stepId'),
        outputs: sql<number>`sum(scanned.outputs)`.as('outputs'),
        reviewed: sql<number>`sum(scanned.reviewed)`.as('reviewed'),
      })
      .from(
        sql`(select item.key as place, ${spans.stepId} as step_id, count(*) as outputs,
            sum(${isReviewed}) as reviewed, row_number() over (partition by item.key) as number
          from ${items} cross join ${traces} cross join ${spans}
          where ${traces.key} in (${piece(sql`piece.key`, whole)}) and ${ofTrace} and ${isReviewable} and ${hasOutput}
          group by item.key, ${spans.stepId}) as scanned`,
      )
      .groupBy(sql`scanned.place`, stepId),
    // `group by` keeps SQLite from inlining the subquery, which would count once for each reference to the count.
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
  ])
  const countsOf = Map.groupBy(counts, row => row.place)
  const storedOf = Map.groupBy(stored, row => row.place)
  const pieceOf = new Map(pieces.map(row => [row.place, row]))
  return days.map((_, index) => {
    const { traces = 0, timestamp = null, id = null } = pieceOf.get(index) ?? {}
    return {
      steps: countsOf.get(index) ?? [],
      traces,
      after: timestamp === null || id === null ? null : { timestamp, id },
      stored: storedOf.get(index) ?? [],
    }
  })
}

/** What to store for a day after a piece. */
export interface CountedPiece {
  day: DueDay
  /** Where the count continues. Null if it's complete. */
  progress: CountProgress | null
  countedAt: number | null
  restsUntil: number
  /** When the day is counted again if nothing changes in the meantime. */
  dueAt: number | null
  /** The counts to store, and the steps whose counts to delete. */
  changed: readonly StepOutputs[]
  gone: readonly string[]
}

const STEPS = rowSet(['projectKey', 'day', 'stepId'])
const COUNTS = rowSet(['projectKey', 'day', 'stepId', 'outputs', 'reviewed'])
const DAYS = rowSet(['projectKey', 'day', 'progressBefore', 'progress', 'countedAt', 'restsUntil', 'dueAt'])
const placeOf = ({ projectKey, day }: DueDay) => ({ projectKey, day })

/** Stores the counts of pieces. If another run has continued a day, stores only the values that both runs agree on. */
export async function saveCounts({ database }: UnscopedStore, counted: readonly CountedPiece[]): Promise<void> {
  const changed = counted.flatMap(({ day, changed }) =>
    changed.map(({ stepId, outputs, reviewed }) => ({ ...placeOf(day), stepId, outputs, reviewed })),
  )
  const gone = counted.flatMap(({ day, gone }) => gone.map(stepId => ({ ...placeOf(day), stepId })))
  const days = counted.map(({ day, progress, countedAt, restsUntil, dueAt }) => ({
    ...placeOf(day),
    progressBefore: day.progress,
    progress: progress && JSON.stringify(progress),
    countedAt,
    restsUntil,
    dueAt,
  }))
  const { row } = DAYS
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
    database
      .update(countedDays)
      .set({
        progress: row.progress,
        countedAt: row.countedAt,
        restsUntil: row.restsUntil,
        dueAt: sql`iif(${row.progress} is null and ${countedDays.isChanged} = 1, ${row.restsUntil}, ${row.dueAt})`,
      })
      .from(DAYS.from(DAYS.encodeAll(days)))
      .where(
        sql`${countedDays.projectKey} = ${row.projectKey} and ${countedDays.day} = ${row.day}
          and ${countedDays.progress} is ${row.progressBefore}`,
      ),
  ])
}
