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
 * The facts that can decide an answer, with the name under which an answer says that it looked for them. Other findings
 * only describe the dispute, such as which kind of value was changed.
 */
export const FACTS: ReadonlyMap<FindingKind, string> = new Map<FindingKind, string>([
  ['step_failed', 'a failed step'],
  ['call_rejected', 'a failed step'],
  ['run_unfinished', 'a failed step'],
  ['output_empty', 'a failed step'],
  ['cut_off', 'cut-off output'],
  ['schema_broken', 'a broken schema'],
  ['only_format_changed', 'a change of format alone'],
  ['call_repeated', 'a faulty call'],
  ['arguments_break_description', 'a faulty call'],
  ['fetched_nothing', 'a better doc to fetch'],
  ['better_doc_not_fetched', 'a better doc to fetch'],
  ['added_value_not_fetched', 'a better doc to fetch'],
  ['source_expired', 'an expired source'],
  ['input_slip', 'a typo in the input'],
  ['input_does_not_add_up', 'a typo in the input'],
  ['correction_computes', 'an arithmetic error'],
  ['output_computes', 'an arithmetic error'],
  ['items_left_out', 'a missing item'],
  ['only_added', 'a missing item'],
  ['only_removed', 'a value without a source'],
  ['unsupported_value_removed', 'a value without a source'],
  ['value_replaced_by_unknown', 'a value without a source'],
  ['removed_value_in_prompt', 'a value without a source'],
  ['pure_addition_not_found', 'a value without a source'],
  ['field_filled', 'a value without a source'],
  ['reworded', 'a change of wording alone'],
  ['reviewers_disagree', 'a contrary decision'],
  ['equal_case_accepted', 'a contrary decision'],
  ['precedent_agrees', 'a contrary decision'],
  ['precedent_contradicts', 'a contrary decision'],
])

/** The findings that locate the span of each error type, most reliable first. */
export const LOCATING: Readonly<Partial<Record<BuiltInErrorType, readonly FindingKind[]>>> = {
  system_failure: ['step_failed', 'run_unfinished'],
  retrieval_failure: ['better_doc_not_fetched', 'fetched_nothing'],
  tool_invocation_error: ['arguments_break_description', 'call_repeated', 'call_rejected', 'tools_described'],
  output_format_violation: ['schema_broken'],
  incomplete_output: ['cut_off'],
}
