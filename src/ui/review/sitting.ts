import type { Fault } from '../api/client.ts'
import type { Json, SpanOfTrace } from '../api/wire.ts'
import type { Draft } from './drafts.ts'

/** A decision in the form that the API accepts. */
export interface Decision {
  decision: 'accept' | 'correct'
  approvedOutput?: Json
  comment?: string
  errorType?: string
  force?: boolean
  takeOver?: boolean
}

/** A decision from this sitting, saved or pending. */
export interface Decided {
  request: Decision
  /** The span and draft at the time of the decision. Undo restores both. */
  seen: SpanOfTrace
  draft: Draft | undefined
  isSaved: boolean
}

/**
 * Why a decision failed. A `fault` with `heldBy` means that someone else is reviewing the span. Status 412 means
 * that the span has changed since it was `seen`.
 */
export interface Trouble {
  request: Decision | 'reset'
  seen: SpanOfTrace
  fault: Fault
}

/** A reviewer's work since they opened the inbox. */
export interface Sitting {
  startedAt: number
  decided: ReadonlyMap<string, Decided>
  /** The spans whose decisions can be undone, oldest first. */
  undoable: readonly string[]
  troubles: ReadonlyMap<string, Trouble>
  skipped: ReadonlySet<string>
  /** The spans whose decisions are being undone. They can't be claimed until the undo is finished. */
  resetting: ReadonlySet<string>
  /** The time of each decision, in milliseconds since 1970. */
  decidedAt: readonly number[]
}

export const newSitting = (startedAt: number): Sitting => ({
  startedAt,
  decided: new Map(),
  undoable: [],
  troubles: new Map(),
  skipped: new Set(),
  resetting: new Set(),
  decidedAt: [],
})

export const withDecision = (sitting: Sitting, spanId: string, decided: Decided, at: number): Sitting => ({
  ...sitting,
  decided: new Map(sitting.decided).set(spanId, decided),
  undoable: [...sitting.undoable.filter(id => id !== spanId), spanId],
  troubles: without(sitting.troubles, spanId),
  skipped: new Set([...sitting.skipped].filter(id => id !== spanId)),
  decidedAt: [...sitting.decidedAt, at],
})

export const withSaved = (sitting: Sitting, spanId: string, decided: Decided): Sitting =>
  sitting.decided.get(spanId) === decided
    ? { ...sitting, decided: new Map(sitting.decided).set(spanId, { ...decided, isSaved: true }) }
    : sitting

/** The sitting as if the reviewer hadn't decided on the span. */
export const withoutDecision = (sitting: Sitting, spanId: string): Sitting => ({
  ...sitting,
  decided: without(sitting.decided, spanId),
  undoable: sitting.undoable.filter(id => id !== spanId),
  troubles: without(sitting.troubles, spanId),
  decidedAt: sitting.decidedAt.slice(0, -1),
})

export const withTrouble = (sitting: Sitting, spanId: string, trouble: Trouble): Sitting => ({
  ...sitting,
  troubles: new Map(sitting.troubles).set(spanId, trouble),
})

export const withoutTrouble = (sitting: Sitting, spanId: string): Sitting => ({
  ...sitting,
  troubles: without(sitting.troubles, spanId),
})

export const withSkipped = (sitting: Sitting, spanId: string): Sitting => ({
  ...sitting,
  skipped: new Set(sitting.skipped).add(spanId),
})

export const withResetting = (sitting: Sitting, spanId: string, isResetting: boolean): Sitting => ({
  ...sitting,
  resetting: new Set(
    [...sitting.resetting, ...(isResetting ? [spanId] : [])].filter(id => isResetting || id !== spanId),
  ),
})

export const withNoneSkipped = (sitting: Sitting): Sitting => ({ ...sitting, skipped: new Set() })

function without<Value>(map: ReadonlyMap<string, Value>, key: string): ReadonlyMap<string, Value> {
  const copy = new Map(map)
  copy.delete(key)
  return copy
}
