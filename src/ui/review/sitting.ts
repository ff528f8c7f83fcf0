import type { Fault } from '../api/client.ts'
import type { Json, SpanOfTrace } from '../api/wire.ts'
import type { Draft } from './drafts.ts'

/** A decision as it is sent. */
export interface Decision {
  decision: 'accept' | 'correct'
  approvedOutput?: Json
  comment?: string
  errorType?: string
  force?: boolean
  takeOver?: boolean
}

/** A decision that was made in this sitting and is saved, or is on its way. */
export interface Decided {
  request: Decision
  /** The span as it was decided on, and what was written about it: an undone decision brings both back. */
  seen: SpanOfTrace
  draft: Draft | undefined
  isSaved: boolean
}

/** Why a decision was not taken. `fault` with `heldBy`: somebody else reviews the span; of status 412: the span is another one by now than it was when `seen`. */
export interface Trouble {
  request: Decision | 'reset'
  seen: SpanOfTrace
  fault: Fault
}

/** What a reviewer did since they sat down. */
export interface Sitting {
  startedAt: number
  decided: ReadonlyMap<string, Decided>
  /** The spans of decisions that can be undone, oldest first. */
  undoable: readonly string[]
  troubles: ReadonlyMap<string, Trouble>
  skipped: ReadonlySet<string>
  /** The spans whose decision is being taken back: not to be claimed before that. */
  resetting: ReadonlySet<string>
  /** When each decision was made, in milliseconds since 1970. */
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

/** As if the span had not been decided on. */
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
