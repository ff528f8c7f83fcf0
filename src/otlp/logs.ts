import { MESSAGE_KEY } from '../domain/fold.ts'
import { exportedObservationUuid, exportedSpanUuid, rootSpanUuid, traceUuid } from '../domain/ids.ts'
import { giveTurn, inPieces, mapInTurns } from '../domain/turns.ts'
import { MAX_WRITTEN_RECORDS, RECORDS_PER_TURN } from '../limits.ts'
import type { Project } from '../store/accounts/projects.ts'
import { ChangesInEach } from '../store/core/across.ts'
import { type ExportedTrace, saveExport } from '../store/spans/exports.ts'
import { addObservations, type ObservationDraft } from '../store/spans/observations.ts'
import { placeValues } from '../store/traces/payloads.ts'
import { groupByStore } from '../store/traces/placed.ts'
import { decodeLogs } from './decode.ts'
import { exportEndpoints } from './endpoint.ts'
import { foldMessages, messagesOf, reasonForNothing, recordKeys } from './log-messages.ts'
import { traceIdOf } from './map.ts'
import { Outcome } from './outcome.ts'
import { byProject } from './project.ts'
import { millisecondsOf, type TelemetryLog, weightOf } from './reading/telemetry.ts'
import type { SpanMessage } from './span-step.ts'
import { factsOfLogs } from './trace-facts.ts'

const ON_OTHER_TRACE = 'some messages were left out because their span belongs to another trace in the organization'

/**
 * Some clients send inputs and outputs only as log records. Stores these as observations of spans, which may arrive
 * later. Rejects and reports records without content.
 */
export const exportLogs = exportEndpoints('logs', async context => {
  const { store, now } = context
  const { records, rejected } = await context.body.decode(decodeLogs)
  const outcome = new Outcome()
  const changes = new ChangesInEach()
  outcome.rejectAll(rejected)
  for (const [project, logs] of await byProject(context, records)) {
    const read = await readLogs(logs)
    for (const { log, messages } of read) if (messages.length === 0) outcome.reject(reasonForNothing(log), 1)
    const withContent = read.filter(({ messages }) => messages.length > 0)
    for (const traces of inPieces([...Map.groupBy(withContent, ({ log }) => traceIdOf(log))], MAX_WRITTEN_RECORDS)) {
      const exported = await mapInTurns(traces, RECORDS_PER_TURN, each => exportedTrace(project, ...each))
      const grouped = await groupByStore(store, project, exported, ({ id }) => id)
      await changes.change(grouped, (shard, ofShard) => saveExport(shard, project, ofShard, now))
    }
    for (const drafts of inPieces(await observationsOf(project, withContent, now), MAX_WRITTEN_RECORDS)) {
      await changes.change(
        await groupByStore(store, project, drafts, ({ traceUuid }) => traceUuid),
        async (shard, ofShard) => {
          const values = ofShard.map(({ data }) => data)
          const outcomes = await addObservations(shard, ofShard, await placeValues(shard, values))
          if (outcomes.includes('span_on_other_trace')) outcome.warn(ON_OTHER_TRACE)
        },
      )
    }
  }
  changes.requireAll()
  return outcome
})

async function readLogs(logs: readonly TelemetryLog[]): Promise<ReadLog[]> {
  const read: ReadLog[] = []
  const keysOf = recordKeys()
  for (const some of inPieces(logs, RECORDS_PER_TURN, weightOf)) {
    const keys = await keysOf(some)
    for (const [index, log] of some.entries()) read.push({ log, key: keys[index] ?? '', messages: messagesOf(log) })
    await giveTurn()
  }
  return read
}

const exportedTrace = async (project: Project, traceId: string, logs: readonly ReadLog[]): Promise<ExportedTrace> => ({
  id: await traceUuid(project.id, traceId),
  traceId,
  rootSpanId: await rootSpanUuid(project.id, traceId),
  facts: factsOfLogs(logs.map(({ log }) => log)),
  spans: [],
})

/** A log record and its messages. */
interface ReadLog {
  log: TelemetryLog
  key: string
  messages: readonly SpanMessage[]
}

/**
 * Creates one observation for each input message, because more may follow, and a single one for all of a span's
 * answers.
 */
async function observationsOf(project: Project, logs: readonly ReadLog[], now: number): Promise<ObservationDraft[]> {
  const bySpan = Map.groupBy(logs, ({ log }) => `${log.traceId}:${log.spanId}`)
  const entries = [...bySpan.values()].flatMap(spanLogs => {
    const inOrder = spanLogs.toSorted((left, right) => Number(left.log.timeNs - right.log.timeNs))
    const inputs = inOrder.flatMap(({ log, key, messages }) =>
      messages
        .filter(({ type }) => type === 'input')
        .map(({ isMessage, data }, index) => ({
          log,
          key: `${key}:${index}`,
          type: 'input' as const,
          stateKey: isMessage ? MESSAGE_KEY : null,
          data,
        })),
    )
    const answers = inOrder.filter(({ messages }) => messages.some(({ type }) => type === 'output'))
    const { output } = foldMessages(answers.flatMap(({ messages }) => messages))
    const last = answers.at(-1)
    if (!last || output === undefined) return inputs
    const key = answers.map(({ key }) => key).join()
    return [...inputs, { log: last.log, key, type: 'output' as const, stateKey: null, data: output }]
  })
  return mapInTurns(
    entries,
    RECORDS_PER_TURN,
    async ({ log, key, type, stateKey, data }, index): Promise<ObservationDraft> => {
      const clientTraceId = traceIdOf(log)
      const [id, spanUuid, uuid] = await Promise.all([
        exportedObservationUuid(project.id, clientTraceId, { spanHex: log.spanId ?? '', type, key }),
        exportedSpanUuid(project.id, log.traceId ?? '', log.spanId ?? ''),
        traceUuid(project.id, clientTraceId),
      ])
      return {
        id,
        traceUuid: uuid,
        spanId: spanUuid,
        type,
        stateKey,
        data: { traceUuid: uuid, json: JSON.stringify(data) },
        timestamp: millisecondsOf(log.timeNs),
        // Keep the export's order, because all its records arrive at the same time.
        receivedAt: now + index / (entries.length + 1),
      }
    },
  )
}
