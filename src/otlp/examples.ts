import type { Example } from '../api/contract.ts'
import { ANSWER, QUESTION } from '../api/story.ts'
import type { Signal } from './reading/telemetry.ts'

/** The same run in OpenTelemetry's terms. */
const exportedIds = { traceId: '0123456789abcdef0123456789abcdef', spanId: '0123456789abcdef' }
const attributesOf = (attributes: Record<string, string>) =>
  Object.entries(attributes).map(([key, stringValue]) => ({ key, value: { stringValue } }))

const exportedSpan = {
  ...exportedIds,
  name: 'chat gpt-4.1-mini',
  startTimeUnixNano: '1795253400000000000',
  endTimeUnixNano: '1795253401040000000',
  attributes: attributesOf({
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'gpt-4.1-mini',
    'input.value': JSON.stringify(QUESTION),
    'output.value': JSON.stringify(ANSWER),
  }),
}
const exportedMessage = {
  ...exportedIds,
  timeUnixNano: '1795253400000000000',
  eventName: 'gen_ai.user.message',
  body: { kvlistValue: { values: attributesOf({ content: QUESTION.question }) } },
}

/** For each signal, an export and its response. */
export const exportExamples: Readonly<Record<Signal, Example>> = {
  traces: { body: { resourceSpans: [{ scopeSpans: [{ spans: [exportedSpan] }] }] }, answers: { 200: {} } },
  logs: { body: { resourceLogs: [{ scopeLogs: [{ logRecords: [exportedMessage] }] }] }, answers: { 200: {} } },
  metrics: {
    body: { resourceMetrics: [] },
    answers: {
      200: { partialSuccess: { rejectedDataPoints: '3', errorMessage: '3 rejected: metrics are not supported' } },
    },
  },
}
