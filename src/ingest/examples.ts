import type { Shown } from '../api/contract.ts'
import {
  ANSWER,
  ANSWERED,
  CORRECTION,
  FEEDBACK_ID,
  JUDGED,
  METADATA,
  OBSERVATION_ID,
  PROMPT_VERSION_ID,
  QUESTION,
  SPAN_ID,
  STARTED,
  TRACE_ID,
} from '../api/story.ts'
import type { Attribution } from './attribution-wire.ts'

export const trace = {
  trace_id: TRACE_ID,
  name: 'support-answer',
  timestamp: STARTED,
  status: 'running',
  metadata: METADATA,
} as const

export const spanEvent = {
  trace_id: TRACE_ID,
  span_id: SPAN_ID,
  step_id: 'generate-answer',
  input: QUESTION,
  output: ANSWER,
  prompt_version_id: PROMPT_VERSION_ID,
  timestamp: STARTED,
  duration_ms: 980,
  status: 'ok',
  model: 'gpt-4.1-mini',
  provider: 'openai',
  usage: { input_tokens: 412, output_tokens: 36, cached_tokens: 256 },
  cost_usd: 0.00018,
} as const

export const observation = {
  trace_id: TRACE_ID,
  observation_id: OBSERVATION_ID,
  type: 'output',
  data: ANSWER,
  timestamp: ANSWERED,
} as const

export const feedback = {
  trace_id: TRACE_ID,
  feedback_id: FEEDBACK_ID,
  name: 'correctness',
  rating: 'negative',
  comment: 'It is 24 months.',
  correction: CORRECTION,
  labeller: { name: 'Ada Lopez', email: 'ada@example.com' },
} as const

const attributedType = {
  error_type: 'context_misinterpretation',
  error_type_id: 'c3ae9de2-44e5-5029-9537-6fcd96db2bd3',
  error_type_name: 'Context misinterpreted',
  error_type_category: 'AI Error',
} as const
const engineAnswer = {
  ...attributedType,
  reasoning:
    'The warranty doc was retrieved and says 24 months. The answer says 12, a figure that appears only in the doc for used devices.',
  confidence: 0.82,
  alternatives: [
    { error_type: 'hallucinated_content', confidence: 0.09 },
    { error_type: 'outdated_reference', confidence: 0.04 },
  ],
  span_id: SPAN_ID,
  evidence: [{ span_id: SPAN_ID, path: 'output.answer', note: '12 months, but the correction says 24' }],
  doc_slug: null,
  engine: 'rules',
  created_at: JUDGED,
}
export const attribution: Shown<typeof Attribution> = {
  trace_id: TRACE_ID,
  ...engineAnswer,
  engine_answer: engineAnswer,
  override: null,
  duration_ms: 6,
  usage: null,
}
export const pendingAttribution = { status: 'pending', trace_id: TRACE_ID } as const
