import type { Ranked } from '../domain/derivation.ts'
import type { TraceFacts } from '../domain/derived-trace.ts'
import type { Json } from '../domain/json.ts'
import { MAX_NAME_LENGTH } from '../limits.ts'
import { stableName } from './reading/step-names.ts'
import { millisecondsOf, type TelemetryLog } from './reading/telemetry.ts'
import { isRootOf, type SpanOutline } from './span-step.ts'

/** Facts about the trace, read from its spans. `root` is its root span. */
export type SpanFacts = Omit<TraceFacts, 'root'> & { root: Ranked<SpanOutline['span']> | null }

/**
 * Combines what the spans of one trace say about it. An explicit trace name wins over the root's name, which wins over
 * other spans' names. For other fields, the root wins over other spans. Ties go to the span that started first.
 */
export function factsOf(spans: readonly SpanOutline[]): SpanFacts {
  const names = spans.map(nameOf)
  const roots = spans.filter(isRootOf).map(({ span }) => ({ rank: rankOf('0', span), value: span }))
  return {
    name: first(names) ?? { rank: LAST_CLASS, value: UNNAMED },
    fields: fieldsOf(spans),
    startMs: least(spans.map(({ span }) => millisecondsOf(span.startNs))),
    endMs: -least(spans.map(({ span }) => -millisecondsOf(span.endNs))),
    root: first(roots) ?? null,
    hasRemoteParent: spans.some(({ span }) => span.hasRemoteParent),
    isGeneric: spans.every(({ step }) => step.kind === 'generic'),
  }
}

/**
 * Facts about the trace, read from log records: its time range, and that it belongs to an AI pipeline. Facts from spans
 * take precedence.
 */
export function factsOfLogs(logs: readonly TelemetryLog[]): TraceFacts {
  const times = logs.map(({ timeNs }) => millisecondsOf(timeNs))
  return {
    name: { rank: LAST_CLASS, value: UNNAMED },
    fields: new Map(),
    startMs: least(times),
    endMs: -least(times.map(time => -time)),
    root: null,
    hasRemoteParent: false,
    isGeneric: false,
  }
}

/** A class that ranks after every fact from spans. */
const LAST_CLASS = '9'
const UNNAMED = 'trace'

/** A rank within a class (one digit): the earliest span comes first. Padded to the longest possible time. */
const rankOf = (rankClass: string, { startNs, spanId }: SpanOutline['span']): string =>
  `${rankClass}${String(startNs).padStart(20, '0')}${spanId}`

function nameOf(read: SpanOutline): Ranked<string> {
  const { span, step } = read
  if (step.trace.name !== undefined) return { rank: rankOf('0', span), value: step.trace.name }
  const isRoot = isRootOf(read)
  const name = (isRoot && step.trace.rootName) || stableName(span.name) || step.stepId
  return { rank: rankOf(isRoot ? '1' : '2', span), value: name.slice(0, MAX_NAME_LENGTH).toWellFormed() }
}

function fieldsOf(spans: readonly SpanOutline[]): Map<string, Ranked<Json>> {
  const fields = new Map<string, Ranked<Json>>()
  for (const read of spans) {
    const rank = rankOf(isRootOf(read) ? '0' : '1', read.span)
    for (const [field, value] of saidBy(read)) {
      const known = fields.get(field)
      if (value !== undefined && (!known || rank < known.rank)) fields.set(field, { rank, value })
    }
  }
  return fields
}

/** The first entry with a name wins, so a trace's own field wins over metadata with the same name. */
const saidBy = ({ step: { trace } }: SpanOutline): [field: string, value: Json | undefined][] => [
  ['group_id', trace.groupId],
  ['user_id', trace.userId],
  ['tags', trace.tags],
  ['environment', trace.environment],
  ['release', trace.release],
  ...Object.entries(trace.metadata ?? {}),
]

function first<Value>(ranked: readonly Ranked<Value>[]): Ranked<Value> | undefined {
  let lowest: Ranked<Value> | undefined
  for (const each of ranked) if (!lowest || each.rank < lowest.rank) lowest = each
  return lowest
}

/** Unlike `Math.min(...numbers)`, this works for tens of thousands of spans. */
const least = (numbers: readonly number[]): number => numbers.reduce((low, number) => Math.min(low, number), Infinity)
