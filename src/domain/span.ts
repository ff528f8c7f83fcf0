export const SPAN_STATUSES = ['ok', 'error'] as const
export type SpanStatus = (typeof SPAN_STATUSES)[number]

/** How much of a span's values a response shows. */
export const PAYLOAD_MODES = ['full', 'preview'] as const
export type PayloadMode = (typeof PAYLOAD_MODES)[number]
