let count = 0

/** A new `trace_id` in the reference client's format. */
export const aTraceId = (): string =>
  `trace_${(count++).toString(16).padStart(6, '0')}${crypto.randomUUID().replaceAll('-', '').slice(0, 16)}`

export const TIME = '2026-11-20T10:00:00.000Z'

/** The time that is this many milliseconds after TIME. */
export const timeAfter = (milliseconds: number): string => new Date(Date.parse(TIME) + milliseconds).toISOString()

/** A valid body for `POST /api/v1/traces`, with some fields changed. */
export const aTrace = (fields: object = {}) => ({
  trace_id: aTraceId(),
  name: 'support-answer',
  timestamp: TIME,
  status: 'running',
  metadata: { group_id: 'session-1', customer: { tier: 'gold' } },
  ...fields,
})

/** A valid body for `POST /api/v1/observations`. */
export const anObservation = (fields: object = {}) => ({
  trace_id: aTraceId(),
  type: 'output',
  data: { answer: 'Yes' },
  timestamp: TIME,
  ...fields,
})

/** A valid body for `POST /api/v1/spans`. */
export const aSpan = (fields: object = {}) => ({
  trace_id: aTraceId(),
  span_id: crypto.randomUUID(),
  step_id: 'generate-answer',
  input: { question: 'Is it covered?' },
  output: { answer: 'Yes' },
  timestamp: TIME,
  ...fields,
})

/** A valid body for `POST /api/v1/feedback`. */
export const aFeedback = (fields: object = {}) => ({
  trace_id: aTraceId(),
  rating: 'negative',
  comment: 'Wrong',
  ...fields,
})
