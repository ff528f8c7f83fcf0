/** The state of the analysis of a trace's disagreement. */
export const ATTRIBUTION_STATUSES = ['pending', 'done', 'failed'] as const

export const ERROR_CATEGORIES = ['User Error', 'Human Error', 'AI Error'] as const
export type ErrorCategory = (typeof ERROR_CATEGORIES)[number]

/** A possible cause of a disagreement. */
export interface ErrorType {
  errorType: string
  /** A UUIDv5. For built-in types, the name is `countersign:error-type:<error_type>` in the URL namespace. */
  id: string
  name: string
  category: ErrorCategory
  /** Explains when this type is the cause. */
  rule: string
}

/** A place in a trace that supports an answer, for a person to check. */
export interface Evidence {
  /** The span. Null for the trace as a whole, or for something outside it. */
  spanId: string | null
  /**
   * A JSON path in the span: `output.items[2].qty`, `input`, `state.config.today`, `prompt`, `feedback`,
   * `knowledgeDocs.<slug>`.
   */
  path: string
  /** What a person should notice at that place. */
  note: string
}

const DOC_PREFIX = 'knowledgeDocs.'

/** The slug of the knowledge doc that an answer's evidence cites first. Null if it cites none. */
export function citedDoc(evidence: readonly Evidence[]): string | null {
  const cited = evidence.find(({ path }) => path.startsWith(DOC_PREFIX))
  return cited?.path.slice(DOC_PREFIX.length) || null
}

/** Another possible cause. */
export interface Alternative {
  errorType: string
  /** Between 0 and 1. */
  confidence: number
}

/** An engine's answer. */
export interface Attribution {
  errorType: string
  /** The probability that this is the cause, between 0 and 1. */
  confidence: number
  /** The next two types, likeliest first. */
  alternatives: Alternative[]
  /**
   * The earliest span whose output should have been different. For errors by users and reviewers, the first one whose
   * output was disputed. Null for an unsupported request, a step that never ran, or a trace that's only a root.
   */
  spanId: string | null
  /** Two to four sentences. */
  reasoning: string
  /** The strongest evidence first. */
  evidence: Evidence[]
  /** `rules`, or a model's name. */
  engine: string
}

/** The time and cost of one engine run. */
export interface AttributionCost {
  durationMs: number
  /** Null unless a model ran and its tokens were reported. */
  inputTokens: number | null
  outputTokens: number | null
  costUsd: number | null
}

/**
 * Turns a reviewer's decision that names an error type into reasoning (the reviewer's words) and evidence (the
 * decision).
 */
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
