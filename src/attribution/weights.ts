import type { BuiltInErrorType } from './taxonomy.ts'

export type Weights = Partial<Record<BuiltInErrorType, number>>

/**
 * What each finding says about each error type, in log odds at full strength: above 0 it speaks for the type, below 0 against
 * it, and what is not listed it leaves open. Fitted to the tuned half of the labeled cases by `bench/attribution/fit.ts`, which
 * starts from weights that were set by hand from the taxonomy's rules, and leaves them only as far as the cases ask for it.
 */
// biome-ignore format: a table
export const WEIGHTS = {
  // checks/travel.ts
  left_out: {},
  error_origin: {},
  error_travelled: { incorrect_input_data: 0.4, task_misunderstanding: 0.3, context_misinterpretation: 0.3, reasoning_error: 0.3, tool_invocation_error: 0.2, incomplete_output: 0.2, missing_input_information: -0.2, reviewer_mistake: -0.2, ambiguous_guideline: -0.2, outdated_reference: -0.2, instruction_noncompliance: -0.2, retrieval_failure: -0.2, ambiguous_request: -0.5 },
  // checks/shape.ts
  schema_broken: { output_format_violation: 4.6, missing_input_information: -1, acceptable_variation: -1, reasoning_error: -1, reviewer_mistake: -2 },
  schema_broken_elsewhere: { output_format_violation: 1.5 },
  output_empty: { system_failure: 1.7, ambiguous_request: -1, incorrect_input_data: -1, reviewer_mistake: -1, instruction_noncompliance: -1, acceptable_variation: -2, hallucinated_content: -2, output_format_violation: -2 },
  no_correction: { unsupported_request: 1.7, incomplete_output: 0.8, task_misunderstanding: 0.3, hallucinated_content: 0.3, tool_invocation_error: 0.3, outdated_reference: -0.2, output_format_violation: -0.2, reviewer_mistake: -0.3, ambiguous_guideline: -0.4, incorrect_input_data: -0.5, ambiguous_request: -0.7, missing_input_information: -1.2, acceptable_variation: -2 },
  order_changed: { reviewer_mistake: 1.4, reasoning_error: 0.8, instruction_noncompliance: 0.7, acceptable_variation: 0.5 },
  format_alone: { output_format_violation: 3.6, acceptable_variation: 0.5, reviewer_mistake: -1 },
  field_filled: { missing_input_information: 2.8, incomplete_output: 0.5, ambiguous_request: 0.4, output_format_violation: -1, acceptable_variation: -2, hallucinated_content: -2 },
  only_added: { incomplete_output: 3.8, instruction_noncompliance: -0.2, task_misunderstanding: -0.2, outdated_reference: -0.9, reasoning_error: -1, acceptable_variation: -1.1, incorrect_input_data: -2, hallucinated_content: -2 },
  only_removed: { hallucinated_content: 1.9, instruction_noncompliance: 1.4, ambiguous_request: 0.3, context_misinterpretation: 0.3, task_misunderstanding: 0.2, reasoning_error: -0.2, acceptable_variation: -0.8, missing_input_information: -2, incorrect_input_data: -2, incomplete_output: -2 },
  language_changed: { instruction_noncompliance: 1.8, task_misunderstanding: 0.9 },
  number_changed: { incorrect_input_data: 1.4, reasoning_error: 1.3, reviewer_mistake: 1.2, context_misinterpretation: 0.8, ambiguous_guideline: 0.7, outdated_reference: 0.7, ambiguous_request: 0.4, incomplete_output: 0.2, hallucinated_content: -0.3, tool_invocation_error: -0.3, instruction_noncompliance: -0.5, unsupported_request: -1.1, task_misunderstanding: -1.6, acceptable_variation: -2.1 },
  choice_changed: { ambiguous_guideline: 2.2, reasoning_error: 1.5, reviewer_mistake: 0.8, context_misinterpretation: 0.5, ambiguous_request: 0.2, incorrect_input_data: 0.2, missing_input_information: -0.2, outdated_reference: -0.2, hallucinated_content: -0.2, tool_invocation_error: -0.2, instruction_noncompliance: -0.4, task_misunderstanding: -0.6, acceptable_variation: -1.5 },
  label_changed: { reviewer_mistake: 1.1, reasoning_error: 0.9, ambiguous_request: 0.5, incorrect_input_data: 0.5, outdated_reference: 0.3, ambiguous_guideline: -0.2, incomplete_output: -0.2, acceptable_variation: -0.6, task_misunderstanding: -0.7 },
  values_swapped: { context_misinterpretation: 2.3, reasoning_error: 0.4, acceptable_variation: -1 },
  reworded: { acceptable_variation: 3.1, instruction_noncompliance: 1.3, incorrect_input_data: -0.2, ambiguous_guideline: -0.2, task_misunderstanding: -0.3, context_misinterpretation: -0.4, missing_input_information: -1.1, reasoning_error: -1.1 },
  rewritten: { task_misunderstanding: 1.8, instruction_noncompliance: 0.5, unsupported_request: 0.4, ambiguous_request: 0.3, incorrect_input_data: 0.2, reasoning_error: 0.2, system_failure: 0.2, reviewer_mistake: -0.2, context_misinterpretation: -0.2, acceptable_variation: -1, incomplete_output: -1.1 },
  form_changed: { task_misunderstanding: 1.7, retrieval_failure: 0.2, context_misinterpretation: -0.3, acceptable_variation: -0.5 },
  many_changes: { ambiguous_request: 0.6, task_misunderstanding: 0.4, context_misinterpretation: 0.3, missing_input_information: 0.2, incorrect_input_data: 0.2, ambiguous_guideline: 0.2, reviewer_mistake: -0.2, instruction_noncompliance: -0.2, acceptable_variation: -0.3, reasoning_error: -0.4, hallucinated_content: -0.6 },
  rest_kept: { reasoning_error: 1.2, reviewer_mistake: 0.6, context_misinterpretation: 0.5, incomplete_output: 0.2, instruction_noncompliance: -0.2, acceptable_variation: -1, task_misunderstanding: -2 },
  // checks/grounding.ts
  unfounded_replaced: { hallucinated_content: 1.7, reasoning_error: 0.5, instruction_noncompliance: 0.3, task_misunderstanding: 0.2, unsupported_request: -0.2, tool_invocation_error: -0.2, incomplete_output: -0.2, system_failure: -0.2, ambiguous_guideline: -0.3, context_misinterpretation: -0.3, retrieval_failure: -0.4, incorrect_input_data: -0.6, outdated_reference: -0.9 },
  unfounded_removed: { hallucinated_content: 3.4, acceptable_variation: 0.2, task_misunderstanding: -0.4, context_misinterpretation: -0.9, outdated_reference: -1, incorrect_input_data: -1.5 },
  founded_removed: { instruction_noncompliance: 1.8, context_misinterpretation: 0.9, acceptable_variation: 0.3, reasoning_error: -0.2, hallucinated_content: -2.1 },
  lost_stands_in_docs: { context_misinterpretation: 1.5, outdated_reference: 1.3, reviewer_mistake: 1, retrieval_failure: 0.9, ambiguous_request: -0.2, ambiguous_guideline: -0.2, task_misunderstanding: -0.6, reasoning_error: -0.6, incorrect_input_data: -1.1, hallucinated_content: -2 },
  lost_stands_in_context: { instruction_noncompliance: 1.4, incorrect_input_data: 1, context_misinterpretation: 0.7, reviewer_mistake: 0.4, incomplete_output: 0.4, task_misunderstanding: 0.3, unsupported_request: -0.2, acceptable_variation: -0.2, missing_input_information: -0.4, outdated_reference: -0.4, retrieval_failure: -0.6, hallucinated_content: -1.5 },
  lost_stands_in_prompt: { outdated_reference: 2.2, reviewer_mistake: 0.4, missing_input_information: 0.2, acceptable_variation: -0.2, hallucinated_content: -1.5 },
  comment_stands_in_context: { context_misinterpretation: 1, incomplete_output: 0.2 },
  gained_stands_in_docs: { context_misinterpretation: 1.6, hallucinated_content: 0.8, incomplete_output: 0.5, instruction_noncompliance: 0.2, reviewer_mistake: -0.5, retrieval_failure: -1.5, missing_input_information: -2, outdated_reference: -2 },
  gained_stands_in_context: { context_misinterpretation: 0.8, incomplete_output: 0.8, task_misunderstanding: 0.6, instruction_noncompliance: 0.4, ambiguous_request: 0.2, reviewer_mistake: 0.2, unsupported_request: -0.2, acceptable_variation: -0.2, retrieval_failure: -0.2, tool_invocation_error: -0.2, incorrect_input_data: -0.3, outdated_reference: -1.6, missing_input_information: -2.6 },
  comment_stands_nowhere: { outdated_reference: 0.6, context_misinterpretation: 0.5, reasoning_error: 0.5, missing_input_information: 0.4, incomplete_output: 0.2, ambiguous_request: -0.2, incorrect_input_data: -0.2, instruction_noncompliance: -0.2, task_misunderstanding: -0.3 },
  gained_stands_nowhere: { outdated_reference: 1.5, missing_input_information: 1.4, reviewer_mistake: 0.8, incorrect_input_data: 0.5, ambiguous_request: 0.3, acceptable_variation: 0.3, instruction_noncompliance: -0.2, reasoning_error: -0.2, unsupported_request: -0.3, ambiguous_guideline: -0.3, task_misunderstanding: -0.3, system_failure: -0.3, context_misinterpretation: -0.7, retrieval_failure: -1.2, incomplete_output: -1.2 },
  addition_stands_nowhere: { missing_input_information: 2.5, reviewer_mistake: 0.3, acceptable_variation: 0.3, retrieval_failure: -0.5, context_misinterpretation: -1, incomplete_output: -1.7 },
  gained_stands_in_prompt: { instruction_noncompliance: 0.8, reviewer_mistake: 0.2, ambiguous_guideline: 0.2, outdated_reference: -0.7, missing_input_information: -1.3 },
  gained_stands_unfetched: { retrieval_failure: 3.4, context_misinterpretation: -0.4, reviewer_mistake: -0.8, outdated_reference: -1, missing_input_information: -2 },
  other_value_taken: { context_misinterpretation: 1.3, reasoning_error: 0.7, ambiguous_request: 0.5, reviewer_mistake: 0.3, ambiguous_guideline: 0.3, instruction_noncompliance: -0.2, hallucinated_content: -1 },
  unknown_facts_added: { missing_input_information: 2.3, outdated_reference: -0.5 },
  value_replaced_by_unknown: { outdated_reference: 1.3, incorrect_input_data: 1.2, reviewer_mistake: 1.1, instruction_noncompliance: 0.4, reasoning_error: -0.5, missing_input_information: -0.9, context_misinterpretation: -1, hallucinated_content: -1.5 },
  founded_replaced_by_unknown: { missing_input_information: 0.9, reviewer_mistake: 0.7, outdated_reference: 0.4, instruction_noncompliance: 0.2, tool_invocation_error: 0.2, hallucinated_content: -1 },
  both_computed: { reasoning_error: 1.3, ambiguous_request: 1.2, reviewer_mistake: 0.4, ambiguous_guideline: 0.2, context_misinterpretation: 0.2, instruction_noncompliance: -0.2, missing_input_information: -0.4, hallucinated_content: -0.7 },
  // checks/computation.ts
  correction_computes: { reasoning_error: 1.6, context_misinterpretation: 0.4, task_misunderstanding: 0.3, ambiguous_request: -0.3, hallucinated_content: -0.5, incorrect_input_data: -0.6, reviewer_mistake: -0.9, acceptable_variation: -1, outdated_reference: -1.1, missing_input_information: -1.5 },
  input_does_not_add_up: { incorrect_input_data: 3, reviewer_mistake: -0.5, reasoning_error: -0.5 },
  output_computes: { reviewer_mistake: 2.1, incorrect_input_data: 0.7, outdated_reference: 0.3, ambiguous_request: 0.2, hallucinated_content: -1, reasoning_error: -1.9 },
  result_impossible: { incorrect_input_data: 1.9, reasoning_error: 0.5, ambiguous_request: -0.2 },
  // checks/slips.ts
  input_impossible: { incorrect_input_data: 3.1 },
  input_slip: { incorrect_input_data: 3.5, ambiguous_request: 0.4, incomplete_output: 0.3, reviewer_mistake: -0.2, ambiguous_guideline: -0.2, task_misunderstanding: -0.2, context_misinterpretation: -0.2 },
  // checks/coverage.ts
  items_left_out: { incomplete_output: 2.6, ambiguous_request: 0.4 },
  // checks/faults.ts
  call_rejected: { tool_invocation_error: 2.5, system_failure: -0.3 },
  step_failed: { system_failure: 5, instruction_noncompliance: -0.2, acceptable_variation: -1, task_misunderstanding: -1.1, incomplete_output: -1.1 },
  failure_unsettled: { system_failure: 0.9, context_misinterpretation: 0.3, reviewer_mistake: 0.2, outdated_reference: 0.2, hallucinated_content: 0.2, reasoning_error: -0.3 },
  failure_recovered: { reviewer_mistake: 0.4, instruction_noncompliance: 0.4, incomplete_output: 0.3, ambiguous_request: 0.2, acceptable_variation: 0.2, hallucinated_content: 0.2, context_misinterpretation: 0.2, ambiguous_guideline: -0.2, missing_input_information: -0.3, task_misunderstanding: -0.3, reasoning_error: -0.3, tool_invocation_error: -0.3, unsupported_request: -0.4, system_failure: -1.4 },
  cut_off: { incomplete_output: 2.7, system_failure: -1 },
  ends_midway: { incomplete_output: 1.5, acceptable_variation: 0.4 },
  run_unfinished: { system_failure: 1.7 },
  // checks/calls.ts
  call_repeated: { tool_invocation_error: 3.2, reviewer_mistake: 0.2 },
  arguments_break_description: { tool_invocation_error: 3 },
  other_tool_fits: { tool_invocation_error: 2 },
  call_took_other_value: { tool_invocation_error: 3.3 },
  call_answered_error: { tool_invocation_error: 1.6, system_failure: 0.5, instruction_noncompliance: 0.2 },
  call_found_nothing: { tool_invocation_error: 0.7, context_misinterpretation: 0.4, instruction_noncompliance: 0.2, acceptable_variation: -0.2, reasoning_error: -0.2 },
  tools_described: { tool_invocation_error: 2.1, task_misunderstanding: -0.2 },
  argument_differs: { tool_invocation_error: 1.1, ambiguous_guideline: 0.4, incorrect_input_data: -0.2, instruction_noncompliance: -0.2 },
  argument_unfounded: { tool_invocation_error: 0.5, ambiguous_request: 0.2, ambiguous_guideline: 0.2, instruction_noncompliance: 0.2, context_misinterpretation: 0.2 },
  // checks/retrieval.ts
  fetched_nothing: { retrieval_failure: 2, tool_invocation_error: 0.2 },
  fetched: { hallucinated_content: 0.5, context_misinterpretation: 0.5, retrieval_failure: 0.3, missing_input_information: 0.2, reviewer_mistake: -0.3 },
  better_doc_unfetched: { retrieval_failure: 3.7, outdated_reference: 0.2, instruction_noncompliance: -0.2, task_misunderstanding: -0.3 },
  best_doc_fetched: { outdated_reference: 0.8, unsupported_request: 0.5, missing_input_information: 0.3, reviewer_mistake: 0.3, ambiguous_guideline: 0.3, context_misinterpretation: 0.3, incorrect_input_data: -0.2, reasoning_error: -0.2, ambiguous_request: -0.3, tool_invocation_error: -0.3, task_misunderstanding: -0.4, retrieval_failure: -1.5 },
  // checks/guidance.ts
  rule_broken: { instruction_noncompliance: 3.5 },
  correction_breaks_rule: { reviewer_mistake: 2.9 },
  guideline_names_change: { instruction_noncompliance: 0.7, ambiguous_guideline: 0.6, incorrect_input_data: 0.5, reviewer_mistake: 0.4, ambiguous_request: 0.3, missing_input_information: 0.3, context_misinterpretation: 0.3, task_misunderstanding: -0.2, incomplete_output: -0.2, hallucinated_content: -0.3, tool_invocation_error: -0.3 },
  prohibition_concerned: { instruction_noncompliance: 1.3, missing_input_information: 0.3, acceptable_variation: 0.3, ambiguous_guideline: 0.3, unsupported_request: 0.2, reviewer_mistake: 0.2, ambiguous_request: -0.2, task_misunderstanding: -0.2, reasoning_error: -0.2, context_misinterpretation: -0.5 },
  prohibition_given: { instruction_noncompliance: 1.1, acceptable_variation: 0.5, unsupported_request: 0.2, outdated_reference: 0.2, ambiguous_request: -0.2, missing_input_information: -0.2, incorrect_input_data: -0.2, tool_invocation_error: -0.2, incomplete_output: -0.2, hallucinated_content: -0.3, context_misinterpretation: -0.3 },
  guideline_backs_output: { reviewer_mistake: 2, outdated_reference: 1.1, reasoning_error: -0.7, instruction_noncompliance: -1.5 },
  guideline_backs_correction: { instruction_noncompliance: 0.7, context_misinterpretation: 0.7, missing_input_information: 0.4, reasoning_error: 0.4, reviewer_mistake: -0.6 },
  guideline_supports_both: { ambiguous_guideline: 1.8 },
  guideline_contradicts_output: { reasoning_error: 1, missing_input_information: 0.4, instruction_noncompliance: 0.3, reviewer_mistake: -1 },
  guideline_contradicts_correction: { reviewer_mistake: 2.4, ambiguous_guideline: -0.3 },
  forbidden_word_used: { instruction_noncompliance: 2.5, reasoning_error: 0.3, acceptable_variation: -1 },
  no_guideline: { task_misunderstanding: 1.3, incomplete_output: 1, ambiguous_request: 0.2, context_misinterpretation: 0.2, reasoning_error: 0.2, tool_invocation_error: 0.2, incorrect_input_data: -0.2, hallucinated_content: -0.2, system_failure: -0.2, output_format_violation: -0.3, outdated_reference: -0.4, reviewer_mistake: -0.7, acceptable_variation: -0.7, unsupported_request: -1.3, ambiguous_guideline: -2.1, instruction_noncompliance: -2.7 },
  guideline_vague: { ambiguous_guideline: 1.5, instruction_noncompliance: 0.3, context_misinterpretation: 0.3, task_misunderstanding: 0.2, reasoning_error: -0.2 },
  scope_limited: { unsupported_request: 1.1, acceptable_variation: 0.4, instruction_noncompliance: -0.2 },
  declined_for_want_of_facts: { missing_input_information: 2, unsupported_request: 0.2 },
  output_declines: { unsupported_request: 2, missing_input_information: 0.5, incorrect_input_data: 0.4, retrieval_failure: 0.3, system_failure: 0.2, ambiguous_request: -0.2, ambiguous_guideline: -0.2, task_misunderstanding: -0.3, hallucinated_content: -0.9 },
  declined_out_of_scope: { unsupported_request: 2.6 },
  declines_as_told: { unsupported_request: 2.1 },
  output_follows_prompt: { unsupported_request: 0.8, outdated_reference: 0.8, ambiguous_guideline: 0.5, incorrect_input_data: 0.2, reasoning_error: -0.2, instruction_noncompliance: -0.3 },
  // checks/prohibitions.ts
  forbidden_kind_used: { instruction_noncompliance: 2.7, acceptable_variation: -1 },
  // checks/consistency.ts
  equal_item_kept: { reviewer_mistake: 2.8 },
  // checks/people.ts
  reviewers_disagree: { ambiguous_guideline: 2.9, acceptable_variation: 1, reviewer_mistake: 0.4, missing_input_information: 0.3, task_misunderstanding: 0.3, outdated_reference: -0.2, instruction_noncompliance: -0.2, reasoning_error: -0.3 },
  rated_well: { acceptable_variation: 2.8, missing_input_information: 0.8, instruction_noncompliance: -0.2, hallucinated_content: -0.2 },
  rated_middling: { incomplete_output: 0.9, missing_input_information: 0.6, ambiguous_guideline: 0.6, output_format_violation: 0.5, acceptable_variation: 0.4, unsupported_request: -0.2, context_misinterpretation: -0.2, ambiguous_request: -0.3, instruction_noncompliance: -0.3 },
  rated_low: { task_misunderstanding: 0.7, unsupported_request: 0.5, tool_invocation_error: 0.4, incorrect_input_data: 0.2, hallucinated_content: 0.2, missing_input_information: -0.3, reviewer_mistake: -0.3, outdated_reference: -0.3, ambiguous_guideline: -0.4, output_format_violation: -0.5, acceptable_variation: -1.8 },
  comment_tells_intent: { ambiguous_request: 2.1, incorrect_input_data: -0.3 },
  no_comment: { acceptable_variation: 0.7, missing_input_information: 0.6, reasoning_error: 0.6, context_misinterpretation: 0.5, instruction_noncompliance: 0.4, reviewer_mistake: 0.3, task_misunderstanding: 0.3, incomplete_output: -0.2, incorrect_input_data: -0.3, unsupported_request: -0.3, hallucinated_content: -0.3, ambiguous_guideline: -0.4, tool_invocation_error: -0.4, outdated_reference: -0.7, ambiguous_request: -0.8 },
  equal_case_accepted: { reviewer_mistake: 2 },
  precedent_agrees: { ambiguous_guideline: -1, reviewer_mistake: -1.5 },
  precedent_contradicts: { reviewer_mistake: 2, ambiguous_guideline: 1 },
  // checks/age.ts
  comment_tells_change: { outdated_reference: 1.9, hallucinated_content: 0.4, ambiguous_request: 0.2, task_misunderstanding: -0.2, incomplete_output: -0.2, unsupported_request: -0.3, reviewer_mistake: -0.3 },
  source_expired: { outdated_reference: 2 },
  source_old: { outdated_reference: 1.8, context_misinterpretation: 0.2, reviewer_mistake: -1 },
  source_current: { reviewer_mistake: 1.4, hallucinated_content: 0.4, context_misinterpretation: 0.3, outdated_reference: -1.2 },
  // checks/request.ts
  request_short: { acceptable_variation: 1, ambiguous_request: 0.8, ambiguous_guideline: 0.4, outdated_reference: 0.2, instruction_noncompliance: 0.2, tool_invocation_error: 0.2, missing_input_information: -0.2, hallucinated_content: -0.2, incorrect_input_data: -0.3, output_format_violation: -0.3, incomplete_output: -0.3, task_misunderstanding: -0.4, reasoning_error: -0.4 },
  request_relative: { ambiguous_request: 1.8, context_misinterpretation: 0.3, acceptable_variation: 0.2, task_misunderstanding: 0.2, retrieval_failure: 0.2, incorrect_input_data: -0.2, outdated_reference: -0.2, tool_invocation_error: -0.2, reasoning_error: -0.3, reviewer_mistake: -0.4 },
  request_is_record: { reasoning_error: 1.2, instruction_noncompliance: 0.5, incorrect_input_data: 0.4, hallucinated_content: 0.4, unsupported_request: -0.2, outdated_reference: -0.2, system_failure: -0.2, tool_invocation_error: -0.3, incomplete_output: -0.4, task_misunderstanding: -0.5, ambiguous_request: -1.2 },
  correction_nearer_to_request: { task_misunderstanding: 0.8, instruction_noncompliance: 0.4, incomplete_output: 0.4, missing_input_information: 0.3, retrieval_failure: 0.3, reasoning_error: 0.3, system_failure: 0.2, acceptable_variation: -0.2, ambiguous_request: -0.3, hallucinated_content: -0.4 },
  request_fits_approved: { context_misinterpretation: 1 },
  request_fits_output: { reviewer_mistake: 1.2, context_misinterpretation: 0.2 },
  request_fits_both: { ambiguous_request: 1.5, instruction_noncompliance: 0.3, reviewer_mistake: 0.2, reasoning_error: 0.2, incomplete_output: -0.2 },
  sources_disagree: { incorrect_input_data: 0.5, task_misunderstanding: 0.3, context_misinterpretation: 0.3 },
} as const satisfies Readonly<Record<string, Weights>>

/** What a check may see. */
export type FindingKind = keyof typeof WEIGHTS

/**
 * What scores are divided by before they become probabilities: above 1 it lowers confidence, which was fitted on cases that the
 * weights had not seen (temperature scaling: Guo et al. 2017, arXiv 1706.04599).
 */
export const TEMPERATURE = 1.1

/** What follows from a finding, and is no evidence of its own beside it. */
export const EXPLAINED_BY: Readonly<Partial<Record<FindingKind, readonly FindingKind[]>>> = {
  step_failed: [
    'fetched_nothing',
    'better_doc_unfetched',
    'gained_stands_unfetched',
    'call_found_nothing',
    'call_answered_error',
    'output_declines',
    'declined_for_want_of_facts',
    'unknown_facts_added',
    'addition_stands_nowhere',
    'gained_stands_nowhere',
    'value_replaced_by_unknown',
    'field_filled',
    'ends_midway',
    'rewritten',
    'language_changed',
  ],
  schema_broken: ['number_changed', 'label_changed', 'choice_changed', 'both_computed'],
  input_slip: ['both_computed', 'correction_computes', 'output_computes', 'gained_stands_nowhere', 'request_fits_both'],
  input_impossible: ['both_computed', 'gained_stands_nowhere', 'value_replaced_by_unknown'],
  gained_stands_unfetched: ['rewritten', 'unfounded_replaced', 'gained_stands_nowhere', 'lost_stands_in_docs'],
  request_fits_output: ['other_value_taken', 'gained_stands_in_docs', 'gained_stands_in_context'],
  guideline_backs_output: ['other_value_taken', 'gained_stands_in_context'],
  call_repeated: ['output_declines', 'declines_as_told', 'no_correction'],
  call_took_other_value: ['output_declines', 'no_correction', 'both_computed'],
  arguments_break_description: ['output_declines', 'no_correction'],
  language_changed: ['unfounded_replaced', 'gained_stands_nowhere', 'correction_nearer_to_request'],
}

/** The findings that tell in which span such an error happened, the surest first. */
export const LOCATING: Readonly<Partial<Record<BuiltInErrorType, readonly FindingKind[]>>> = {
  system_failure: ['step_failed', 'run_unfinished', 'failure_unsettled'],
  retrieval_failure: ['better_doc_unfetched', 'fetched_nothing'],
  tool_invocation_error: [
    'arguments_break_description',
    'call_took_other_value',
    'call_repeated',
    'call_rejected',
    'other_tool_fits',
    'argument_differs',
    'call_answered_error',
    'argument_unfounded',
    'call_found_nothing',
  ],
  output_format_violation: ['schema_broken'],
  incomplete_output: ['cut_off'],
}
