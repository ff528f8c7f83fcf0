import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { SelectResultFields } from 'drizzle-orm/query-builders/select.types'
import { type FoldedObservation, foldObservations, mergeInputs } from '../domain/fold.ts'
import { JsonText } from '../domain/json.ts'
import type { PayloadMode, SpanStatus } from '../domain/span.ts'
import { MAX_DETAIL_BYTES } from '../limits.ts'
import { bounded, bytesSoFar } from './bounds.ts'
import { named, readPlain } from './database.ts'
import { type FoundValue, type ShownValue, showValues, untilWhole } from './payloads.ts'
import { observations, spans, traces } from './schema.ts'
import type { Store } from './store.ts'
import { isLive } from './traces.ts'

/** A span with its values, as answers show it. */
export interface SpanDetail {
  id: string
  parentId: string | null
  stepId: string
  status: SpanStatus | null
  durationMs: number | null
  promptVersionId: string | null
  metadata: JsonText
  timestamp: number
  input: JsonText
  output: JsonText
  /** By key. */
  state: Record<string, JsonText>
  /** Names what the output is: it changes when another one comes. */
  outputRevision: string
  /** The fields that are previews of their values: `input`, `output`, `state.<key>`, `metadata`. */
  truncated: string[]
}

const spanBytes = bytesSoFar(spans.metadata, spans.input, spans.output)
const MAX_BYTES = sql.raw(String(MAX_DETAIL_BYTES))

/** The fields of a span, its values as far as an answer may hold them. */
export const spanFields = {
  ...named({
    id: spans.id,
    parentId: spans.parentId,
    stepId: spans.stepId,
    status: spans.status,
    durationMs: spans.durationMs,
    promptVersionId: spans.promptVersionId,
    timestamp: spans.timestamp,
    inputRef: spans.inputRef,
    outputRef: spans.outputRef,
    outputRevision: spans.outputRevision,
  }),
  metadata: bounded(spans.metadata, spanBytes, MAX_BYTES, 'metadata'),
  input: bounded(spans.input, spanBytes, MAX_BYTES, 'input'),
  output: bounded(spans.output, spanBytes, MAX_BYTES, 'output'),
  isCut: sql<number>`${spanBytes} > ${MAX_BYTES}`.as('isCut'),
}

/** The fields of an observation likewise; `spanBytes`, what its trace's spans hold already. */
export const observationFields = (spanBytes: SQL = sql`0`) => {
  const soFar = bytesSoFar(observations.data)
  const maxBytes = sql`${MAX_BYTES} - ${spanBytes}`
  return {
    ...named({
      id: observations.id,
      spanId: observations.spanId,
      type: observations.type,
      stateKey: observations.stateKey,
      dataRef: observations.dataRef,
      timestamp: observations.timestamp,
      receivedAt: observations.receivedAt,
    }),
    data: bounded(observations.data, soFar, maxBytes, 'data'),
    isCut: sql<number>`${soFar} > ${maxBytes}`.as('isCut'),
  }
}

export type SpanRow = SelectResultFields<typeof spanFields>
export type ObservationRow = SelectResultFields<ReturnType<typeof observationFields>>

/** An observation as far as it is read. */
const foldable = ({ data, dataRef, isCut, ...row }: ObservationRow): FoldedObservation<FoundValue> => ({
  ...row,
  value: { text: data ?? 'null', ref: dataRef, isCut: isCut === 1 },
})

/**
 * Puts spans together from their rows and their trace's observations: values given to the span come first, observations
 * fold over them. Undefined where an object is gone, as it is when the trace is purged meanwhile.
 */
export async function assembleSpans(
  store: Store,
  trace: { key: number; rootSpanId: string },
  spanRows: readonly SpanRow[],
  observationRows: readonly ObservationRow[],
  mode: PayloadMode,
): Promise<SpanDetail[] | undefined> {
  const observationsOf = Map.groupBy(observationRows, ({ spanId }) => spanId ?? trace.rootSpanId)
  const folded = spanRows.map(row => fold(row, observationsOf.get(row.id) ?? []))
  const values = folded.flatMap(({ inputs, output, state }) => [
    ...inputs,
    ...(output ? [output] : []),
    ...state.map(([, value]) => value),
  ])
  const shown = await showValues(store, trace.key, values, mode)
  return shown && folded.map(span => detailOf(span, shown, trace.rootSpanId))
}

/** A span's row and the values that it is made of. */
interface FoldedSpan {
  row: SpanRow
  inputs: FoundValue[]
  output: FoundValue | undefined
  outputRevision: string
  state: [key: string, value: FoundValue][]
}

function fold(row: SpanRow, observationRows: readonly ObservationRow[]): FoldedSpan {
  const isCut = row.isCut === 1
  const given = (text: string | null, ref: string | null) => (text === null ? [] : [{ text, ref, isCut }])
  const { inputs, output, state } = foldObservations(observationRows.map(foldable))
  return {
    row,
    inputs: [...given(row.input, row.inputRef), ...inputs],
    output: output?.value ?? given(row.output, row.outputRef)[0],
    outputRevision: output?.observationId ?? row.outputRevision ?? 'none',
    state,
  }
}

function detailOf(
  { row, inputs, output, outputRevision, state }: FoldedSpan,
  shown: ReadonlyMap<FoundValue, ShownValue>,
  rootSpanId: string,
): SpanDetail {
  const shownOf = (value: FoundValue | undefined) => (value && shown.get(value)) ?? { text: 'null', isWhole: true }
  const shownInputs = inputs.map(shownOf)
  const shownOutput = shownOf(output)
  const shownState = state.map(([key, value]) => [key, shownOf(value)] as const)
  const isMetadataCut = row.isCut === 1 && row.metadata !== null
  return {
    id: row.id,
    parentId: row.id === rootSpanId ? null : row.parentId || rootSpanId,
    stepId: row.stepId,
    status: row.status,
    durationMs: row.durationMs,
    promptVersionId: row.promptVersionId,
    timestamp: row.timestamp,
    metadata: new JsonText(isMetadataCut ? '{}' : (row.metadata ?? '{}')),
    input: new JsonText(inputText(shownInputs)),
    output: new JsonText(shownOutput.text),
    outputRevision,
    state: Object.fromEntries(shownState.map(([key, { text }]) => [key, new JsonText(text)])),
    truncated: [
      ...(shownInputs.every(({ isWhole }) => isWhole) ? [] : ['input']),
      ...(shownOutput.isWhole ? [] : ['output']),
      ...shownState.filter(([, { isWhole }]) => !isWhole).map(([key]) => `state.${key}`),
      ...(isMetadataCut ? ['metadata'] : []),
    ],
  }
}

/** Only several inputs need to be parsed, to become one. Where one is a preview, it stands for all. */
function inputText(inputs: readonly ShownValue[]): string {
  const [first, ...more] = inputs
  if (!first) return 'null'
  if (more.length === 0) return first.text
  const preview = inputs.find(({ text, isWhole }) => !isWhole && text.startsWith('"'))
  if (preview) return preview.text
  return JSON.stringify(mergeInputs(inputs.map(({ text }) => JSON.parse(text))))
}

/** A span and the trace that it belongs to. */
export interface LocatedSpan extends SpanDetail {
  trace: { id: string; traceId: string; name: string }
  projectKey: number
}

const locatedFields = named({
  id: traces.id,
  key: traces.key,
  rootSpanId: traces.rootSpanId,
  traceId: traces.traceId,
  name: traces.name,
  projectKey: traces.projectKey,
})

/** One span of a live trace, in full as far as an answer goes: one round trip, and R2 reads for its large values. */
export const findSpan = (store: Store, id: string): Promise<LocatedSpan | undefined> =>
  untilWhole(store, () => readSpan(store, id))

async function readSpan(store: Store, id: string) {
  const { database } = store
  // A root's id can be computed, and so taken by another trace's span before its trace is there: the root is meant.
  const ofSpan = and(
    eq(spans.id, id),
    sql`${spans.traceKey} = (
      select ${traces.key} from ${spans} own cross join ${traces}
      where own.id = ${id} and ${traces.key} = own.trace_key and ${isLive(store)}
      order by own.is_root desc limit 1)`,
  )
  const traceKey = sql`(select ${spans.traceKey} from ${spans} where ${ofSpan})`
  const ofTrace = sql`${traces.key} = ${traceKey}`
  const isRootOfTrace = sql`(select ${traces.rootSpanId} from ${traces} where ${ofTrace}) = ${id}`
  const [[trace], spanRows, observationRows] = await readPlain(database, [
    database.select(locatedFields).from(traces).where(ofTrace),
    database.select(spanFields).from(spans).where(ofSpan),
    database
      .select(observationFields())
      .from(observations)
      .where(
        sql`${observations.traceKey} = ${traceKey}
          and (${observations.spanId} = ${id} or (${observations.spanId} is null and ${isRootOfTrace}))`,
      ),
  ])
  if (!trace) return undefined
  const [span] = (await assembleSpans(store, trace, spanRows, observationRows, 'full')) ?? []
  const { traceId, name, projectKey } = trace
  return { trace, found: span && { ...span, trace: { id: trace.id, traceId, name }, projectKey } }
}
