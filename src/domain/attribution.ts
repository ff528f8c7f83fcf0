/** How far the analysis of a trace's disagreement is. */
export const ATTRIBUTION_STATUSES = ['pending', 'done', 'failed'] as const

export const ERROR_CATEGORIES = ['User Error', 'Human Error', 'AI Error'] as const
export type ErrorCategory = (typeof ERROR_CATEGORIES)[number]

/** What a disagreement may come from. */
export interface ErrorType {
  errorType: string
  /** UUIDv5: of `countersign:error-type:<error_type>` in the URL namespace for a built-in one. */
  id: string
  name: string
  category: ErrorCategory
  /** When it is the cause. */
  rule: string
}

/** A place in a trace that speaks for an answer, for a person to check. */
export interface Evidence {
  /** The span; null: the trace as a whole, or what lies outside of it. */
  spanId: string | null
  /** A JSON path from there: `output.items[2].qty`, `input`, `state.config.today`, `prompt`, `feedback`, `knowledgeDocs.<slug>`. */
  path: string
  /** What is there to be seen. */
  note: string
}

/** Another type that may be the cause. */
export interface Alternative {
  errorType: string
  /** Between 0 and 1. */
  confidence: number
}

/** What an engine answers. */
export interface Attribution {
  errorType: string
  /** How likely it is the cause: between 0 and 1. */
  confidence: number
  /** The next two, likeliest first. */
  alternatives: Alternative[]
  /** The earliest span whose failure explains the rest; null where it was none of them. */
  spanId: string | null
  /** Two to four sentences. */
  reasoning: string
  /** What weighed most, first. */
  evidence: Evidence[]
  /** `rules`, or a model's name. */
  engine: string
}

/** What a run of an engine took. */
export interface AttributionCost {
  durationMs: number
  /** Of a model that says so. */
  inputTokens: number | null
  outputTokens: number | null
  costUsd: number | null
}

/** What a decision that names an error type says of the cause: the reviewer's words, and the decision as what shows it. */
export const reviewersStatement = ({
  spanId,
  name,
  comment,
}: {
  spanId: string
  name: string
  comment: string | null
}): { reasoning: string; evidence: Evidence[] } => ({
  reasoning: comment || `A reviewer named "${name}" as the cause and left no comment.`,
  evidence: [{ spanId, path: 'review', note: `names "${name}" as the cause` }],
})
