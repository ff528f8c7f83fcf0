import type { FeedbackSource, Rating } from './feedback.ts'
import type { Json, JsonObject } from './json.ts'
import type { SpanStatus } from './span.ts'

/** A disagreement and its context: everything an engine reads, as plain values. */
export interface Subject {
  /** When the service first received the trace, in milliseconds since 1970. */
  receivedAt: number
  /** The trace's own timestamp, in the same unit. */
  timestamp: number
  isCompleted: boolean
  /** The root comes first. The others are sorted by time. */
  steps: Step[]
  /** The whole project's docs, in the versions active when the trace was received. */
  knowledgeDocs: KnowledgeDoc[]
  /** Oldest first. */
  feedback: SubjectFeedback[]
  /** Phrases that describe omitted data, such as "9,700 of 10,000 spans that are far from the feedback". */
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
  /** Null if no input arrived. */
  input: Json
  output: Json
  /** Whether an output arrived, even if it's null. */
  hasOutput: boolean
  state: Record<string, Json>
  metadata: JsonObject
  /** From the span's prompt version, or else from the version that was active for its step at the time. */
  prompt: { content: string; outputSchema: JsonObject | null } | null
  /** The current decision. Null if unreviewed. */
  review: StepReview | null
  /** Decisions on spans in other traces with this step and an equal input, newest first. */
  precedents: Precedent[]
}

/** A reviewer's decision on a step. */
interface StepReview {
  state: 'accepted' | 'corrected'
  approvedOutput: Json
  userId: string
  comment: string | null
}

/** An earlier decision on an equal input. */
export interface Precedent {
  spanId: string
  state: 'accepted' | 'corrected'
  approvedOutput: Json
  userId: string
}

/** A knowledge doc in the version active when the trace was received. */
export interface KnowledgeDoc {
  slug: string
  title: string
  content: string
}

/** Feedback on a step or on the whole trace. */
export interface SubjectFeedback {
  /** The root's id if the feedback names no span. */
  spanId: string
  /** Who gave it: a user's id, or an id that distinguishes labelers known only by name. */
  userId: string
  rating: Rating | null
  comment: string | null
  correction: JsonObject | null
  source: FeedbackSource
}

/** The root step, which represents the whole trace. Throws if there are no steps. */
export function rootOf({ steps }: Subject): Step {
  const root = steps.find(({ isRoot }) => isRoot) ?? steps[0]
  if (!root) throw new Error('a trace has a root span')
  return root
}

/** The ids of the steps above each step, nearest first. */
export type Ancestors = ReadonlyMap<Step, ReadonlySet<string>>

/** A deeper tree is a mistake, or an attempt to slow us down. */
const MAX_ANCESTORS = 64

/** Finds the steps above each step. Terminates even if a step is its own ancestor. */
export function ancestorsIn({ steps }: Subject): Ancestors {
  // If two steps share an id, the first one's parent is used.
  const parents = new Map(steps.toReversed().map(({ spanId, parentSpanId }) => [spanId, parentSpanId]))
  return new Map(
    steps.map(step => {
      const above = new Set<string>()
      for (let at = step.parentSpanId; at && !above.has(at) && above.size < MAX_ANCESTORS; ) {
        above.add(at)
        at = parents.get(at) ?? null
      }
      return [step, above] as const
    }),
  )
}
