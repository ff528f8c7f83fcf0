import type { Json, JsonObject } from '../../src/domain/json.ts'
import type { Step, Subject, SubjectFeedback } from '../../src/domain/subject.ts'

const AT = Date.parse('2026-06-01T12:00:00Z')

/** The fields of a step that a test sets. The others have empty defaults. */
interface StepDraft extends Partial<Step> {
  approved?: Json
}

/** The fields of a disagreement that a test sets. */
export interface SubjectDraft {
  root?: StepDraft
  /** The steps by id, in order and a second apart. */
  steps?: Record<string, StepDraft>
  docs?: Record<string, string>
  feedback?: Partial<SubjectFeedback>[]
  isCompleted?: boolean
}

/**
 * A trace with feedback and reviews. Each span's id is its step's id, the root's id is `root`, and the default user is
 * `ann`.
 */
export function aDisagreement({
  root = {},
  steps = {},
  docs = {},
  feedback = [],
  isCompleted = true,
}: SubjectDraft): Subject {
  return {
    receivedAt: AT,
    timestamp: AT,
    isCompleted,
    steps: [
      stepOf('root', { ...root, isRoot: true, stepId: root.stepId ?? 'run' }),
      ...Object.entries(steps).map(([stepId, draft], index) =>
        stepOf(stepId, { parentSpanId: 'root', timestamp: AT + (index + 1) * 1000, ...draft }),
      ),
    ],
    knowledgeDocs: Object.entries(docs).map(([slug, content]) => ({ slug, title: slug, content })),
    feedback: feedback.map(fields => ({
      spanId: 'root',
      userId: 'ann',
      rating: null,
      comment: null,
      correction: null,
      source: 'api',
      ...fields,
    })),
    omitted: [],
  }
}

/** A prompt with an optional schema for its step's outputs. */
export const aPrompt = (content: string, outputSchema: JsonObject | null = null) => ({ content, outputSchema })

function stepOf(spanId: string, { approved, ...fields }: StepDraft): Step {
  return {
    spanId,
    isRoot: false,
    parentSpanId: null,
    stepId: spanId,
    timestamp: AT,
    durationMs: null,
    status: null,
    input: null,
    output: null,
    hasOutput: fields.output !== undefined,
    state: {},
    metadata: {},
    prompt: null,
    review:
      approved === undefined ? null : { state: 'corrected', approvedOutput: approved, userId: 'ann', comment: null },
    precedents: [],
    ...fields,
  }
}
