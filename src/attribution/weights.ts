import type { BuiltInErrorType } from './taxonomy.ts'
import table from './weights.json' with { type: 'json' }

/** The kinds of findings. */
export type FindingKind = keyof typeof table.weights

/** What `npm run fit:attribution` fits to labeled cases. */
export interface Fitted {
  /**
   * How much each finding supports each error type, in log odds at full strength: positive if it supports the type,
   * negative if it contradicts it, and absent if it does neither.
   */
  weights: Readonly<Partial<Record<FindingKind, Partial<Record<BuiltInErrorType, number>>>>>
  /**
   * Scores are divided by this before they become probabilities. A value above 1 lowers confidence. Fitted to
   * cross-validated answers (temperature scaling: Guo et al. 2017, arXiv 1706.04599).
   */
  temperature: number
}

export const FITTED: Fitted = table

/**
 * The facts that can decide an answer. The keys are the names that an answer uses when it lists the facts that it
 * looked for. Other findings only describe the dispute, such as which kind of value was changed.
 */
const FACTS_BY_NAME: Readonly<Record<string, readonly FindingKind[]>> = {
  'a failed step': ['step_failed', 'run_unfinished'],
  'cut-off output': ['cut_off'],
  'a schema violation': ['schema_broken'],
  'a formatting-only change': ['only_format_changed'],
  'a repeated call': ['call_repeated'],
  'a better doc to fetch': ['fetched_nothing', 'better_doc_not_fetched', 'added_value_not_fetched'],
  'a typo in the input': ['input_slip', 'input_does_not_add_up'],
  'an arithmetic error': ['correction_computes', 'output_computes'],
  'an unchanged output with an addition': ['only_added'],
  'a value without a source': ['unsupported_value_removed', 'removed_value_in_prompt', 'pure_addition_not_found'],
  'a wording-only change': ['reworded'],
  'a contrary decision': ['equal_case_accepted', 'precedent_agrees', 'precedent_contradicts'],
}

/** The name of each fact. */
export const FACTS: ReadonlyMap<FindingKind, string> = new Map(
  Object.entries(FACTS_BY_NAME).flatMap(([name, kinds]) => kinds.map(kind => [kind, name] as const)),
)

/** The findings that locate the span of each error type, most reliable first. */
export const LOCATING: Readonly<Partial<Record<BuiltInErrorType, readonly FindingKind[]>>> = {
  system_failure: ['step_failed', 'run_unfinished'],
  retrieval_failure: ['better_doc_not_fetched'],
  tool_invocation_error: ['call_repeated', 'tools_described'],
  output_format_violation: ['schema_broken'],
  incomplete_output: ['cut_off'],
}
