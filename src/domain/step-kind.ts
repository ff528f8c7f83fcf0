/** A span's kind. `generic` spans, such as HTTP calls and database queries, aren't steps of an AI pipeline. */
export const STEP_KINDS = [
  'llm',
  'embedding',
  'retriever',
  'reranker',
  'tool',
  'agent',
  'chain',
  'workflow',
  'task',
  'prompt',
  'guardrail',
  'evaluator',
  'generic',
] as const
export type StepKind = (typeof STEP_KINDS)[number]

/** When a span with an output is offered for review. */
export type Reviewability = 'always' | 'as_root' | 'never'

const REVIEWABILITY: Record<StepKind, Reviewability> = {
  llm: 'always',
  tool: 'always',
  agent: 'always',
  // These prepare, pass on, or check what another step produced. If such a span is the root, it has the run's answer.
  chain: 'as_root',
  workflow: 'as_root',
  task: 'as_root',
  retriever: 'as_root',
  reranker: 'as_root',
  prompt: 'as_root',
  guardrail: 'as_root',
  evaluator: 'as_root',
  // Nobody can judge a vector.
  embedding: 'never',
  generic: 'never',
}

/**
 * Whether a span with an output is offered for review. It always is if the pipeline itself names its step, through the
 * API or with `countersign.step_id`.
 */
export const reviewabilityOf = (kind: StepKind, isNamed: boolean): Reviewability =>
  isNamed ? 'always' : REVIEWABILITY[kind]
