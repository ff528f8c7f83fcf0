import type { Shown } from '../api/contract.ts'
import { JUDGED, PROBLEM_ID, PROMPT_DRAFT_ID, PROMPT_ID, PROMPT_VERSION_ID, SPAN_ID, TRACE_UUID } from '../api/story.ts'
import type { PendingSuggestion, Suggestion } from './suggestion-wire.ts'
import type { Problem } from './wire.ts'

export const problem: Shown<typeof Problem> = {
  id: PROBLEM_ID,
  stepId: 'generate-answer',
  errorType: 'context_misinterpretation',
  docSlug: null,
  count: 12,
  byReviewers: 9,
  byEngine: 3,
  share: 0.06,
  trend: 4,
  lastAt: JUDGED,
  examples: [SPAN_ID],
  state: 'open',
  assignee: null,
  candidate: null,
  proof: null,
  watch: null,
  note: null,
}

export const pendingSuggestion: Shown<typeof PendingSuggestion> = { status: 'pending', problemId: PROBLEM_ID }

export const suggestion: Shown<typeof Suggestion> = {
  problemId: PROBLEM_ID,
  promptId: PROMPT_ID,
  versionId: PROMPT_DRAFT_ID,
  number: 2,
  isActive: false,
  baseVersionId: PROMPT_VERSION_ID,
  model: 'anthropic/claude-sonnet-4-5',
  createdAt: JUDGED,
  changes: [
    {
      start: 20,
      before: '',
      after: '\nIf the chunks contradict each other, follow the newest.',
      reason: 'Two answers followed a chunk that a newer one had replaced.',
      examples: [SPAN_ID],
      isCopied: false,
      copiedFrom: [],
    },
  ],
  examples: [{ spanId: SPAN_ID, traceId: TRACE_UUID }],
}
