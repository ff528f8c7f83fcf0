import type { Shown } from '../api/contract.ts'
import { JUDGED, PROBLEM_ID, SPAN_ID } from '../api/story.ts'
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
