import type { FeedbackSource, Rating } from './feedback.ts'
import type { Json, JsonObject } from './json.ts'
import type { SpanStatus } from './span.ts'

/** A disagreement and what it is about: all that an engine goes by, as plain values. */
export interface Subject {
  /** When the service first received the trace, in milliseconds since 1970. */
  receivedAt: number
  /** The trace's own timestamp, likewise. */
  timestamp: number
  isCompleted: boolean
  /** The root first, then by time. */
  steps: Step[]
  /** Of the whole project, as they were active when the trace was received. */
  knowledgeDocs: KnowledgeDoc[]
  /** Oldest first. */
  feedback: SubjectFeedback[]
  /** Why the above is not everything, a clause each: "9,700 of 10,000 spans that are far from the feedback". */
  omitted: string[]
}

/** A span. The root span has the trace's own observations and metadata. */
export interface Step {
  spanId: string
  isRoot: boolean
  /** Null for the root. */
  parentSpanId: string | null
  stepId: string
  timestamp: number
  durationMs: number | null
  status: SpanStatus | null
  /** Null where nothing arrived. */
  input: Json
  output: Json
  /** Whether an output arrived, if only null. */
  hasOutput: boolean
  state: Record<string, Json>
  metadata: JsonObject
  /** Of the span's prompt version, or of its step's active one at the time. */
  prompt: { content: string; outputSchema: JsonObject | null } | null
  /** The decision in force; null: unreviewed. */
  review: StepReview | null
  /** Decisions on spans of other traces with this step and an equal input, newest first. */
  precedents: Precedent[]
}

/** What a reviewer decided on a step. */
interface StepReview {
  state: 'accepted' | 'corrected'
  approvedOutput: Json
  userId: string
  comment: string | null
}

/** A decision on an equal case. */
export interface Precedent {
  spanId: string
  state: 'accepted' | 'corrected'
  approvedOutput: Json
  userId: string
}

/** A knowledge doc in the version that was active when the trace was received. */
export interface KnowledgeDoc {
  slug: string
  title: string
  content: string
}

/** What somebody said of a step, or of the trace. */
export interface SubjectFeedback {
  /** The root's where it names no span. */
  spanId: string
  /** Whose it is: a user's id, or what tells labellers of a name alone apart. */
  userId: string
  rating: Rating | null
  comment: string | null
  correction: JsonObject | null
  source: FeedbackSource
}

/** The step that stands for the trace as a whole. Throws where a subject has none. */
export function rootOf({ steps }: Subject): Step {
  const root = steps.find(({ isRoot }) => isRoot) ?? steps[0]
  if (!root) throw new Error('a trace has a root span')
  return root
}
