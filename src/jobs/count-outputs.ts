import { type CountProgress, changesOf, sumByStep } from '../domain/output-count.ts'
import { changesOfUse, sumByVersion } from '../domain/step-use.ts'
import { COUNT_REST_PER_TRACE_MS, DAY_MS, MAX_COUNT_REST_MS, MIN_COUNT_REST_MS } from '../limits.ts'
import type { UnscopedStore } from '../store/core/store.ts'
import {
  type CountedPiece,
  countPieces,
  type DueDay,
  type Piece,
  saveCounts,
  scheduleNewTraces,
  takeDueDays,
} from '../store/counts/output-days.ts'

/**
 * Counts outputs by day, step, and project, along with what they and model calls used, for a bounded number of traces
 * per minute. Of the days that changed, those that have waited longest are counted first. Days that have too many
 * traces for one run take turns.
 */
export async function countOutputs(unscoped: UnscopedStore, now: number): Promise<void> {
  await scheduleNewTraces(unscoped, now)
  const due = (await takeDueDays(unscoped, now)).map(day => ({ day, before: progressOf(day) }))
  if (due.length === 0) return
  const pieces = await countPieces(
    unscoped,
    due.map(({ day, before }) => ({ ...day, after: before?.after })),
  )
  const counted = due.flatMap(({ day, before }, index) => {
    const piece = pieces[index]
    return piece ? [addPiece(day, before, piece, now)] : []
  })
  await saveCounts(unscoped, counted)
}

const progressOf = ({ progress }: DueDay): CountProgress | undefined =>
  progress === null ? undefined : JSON.parse(progress)

/** Adds the next piece of a day's count. */
function addPiece(day: DueDay, before: CountProgress | undefined, piece: Piece, now: number): CountedPiece {
  const startedAt = before?.startedAt ?? now
  const traces = (before?.traces ?? 0) + piece.traces
  const steps = sumByStep(before?.steps ?? [], piece.steps)
  const uses = sumByVersion(before?.uses ?? [], piece.uses)
  if (piece.after) {
    const progress = { startedAt, traces, after: piece.after, steps, uses }
    return { day, progress, countedAt: day.countedAt, restsUntil: now, dueAt: now, ...NO_CHANGES }
  }
  const outputs = changesOf(piece.stored, steps)
  const use = day.isUseKept ? { changed: [], gone: [] } : changesOfUse(piece.storedUses, uses)
  const changes = { ...outputs, changedUses: use.changed, goneUses: use.gone }
  const isSame = Object.values(changes).every(({ length }) => length === 0)
  const restsUntil = now + restOf(traces)
  const dueAt = isSame ? nextLook(day, startedAt) : restsUntil
  return { day, progress: null, countedAt: startedAt, restsUntil, dueAt, ...changes }
}

const NO_CHANGES = { changed: [], gone: [], changedUses: [], goneUses: [] }

/** How long a day waits for its next count. This bounds the cost of a day, however often it changes. */
const restOf = (traces: number): number =>
  Math.min(Math.max(MIN_COUNT_REST_MS, traces * COUNT_REST_PER_TRACE_MS), MAX_COUNT_REST_MS)

/**
 * When to count an unchanged day again: once, a day later, because outputs may arrive late. After that, it's never
 * counted again.
 */
const nextLook = ({ countedAt }: DueDay, startedAt: number): number | null =>
  countedAt !== null && startedAt - countedAt >= DAY_MS ? null : startedAt + DAY_MS
