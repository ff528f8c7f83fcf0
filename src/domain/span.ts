export const SPAN_STATUSES = ['ok', 'error'] as const
export type SpanStatus = (typeof SPAN_STATUSES)[number]
