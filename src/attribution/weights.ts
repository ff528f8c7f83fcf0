import type { BuiltInErrorType } from './taxonomy.ts'
import table from './weights.json' with { type: 'json' }

export type Weights = Partial<Record<BuiltInErrorType, number>>

/**
 * How much each finding supports each error type, in log odds at full strength: positive if it supports the type,
 * negative if it contradicts it, and absent if it does neither. `bench/attribution/fit.ts` fits them to the tuned half
 * of the labeled cases, starting from hand-set weights based on the taxonomy's rules and moving them only as far as the
 * cases require.
 */
export const WEIGHTS: Readonly<Record<FindingKind, Weights>> = table.weights

/** The kinds of findings. */
export type FindingKind = keyof typeof table.weights

/**
 * Scores are divided by this before they become probabilities. A value above 1 lowers confidence. Fitted to cases that
 * weren't used for the weights (temperature scaling: Guo et al. 2017, arXiv 1706.04599).
 */
export const TEMPERATURE = table.temperature

/** Findings that follow from another finding, so they add no evidence to it. */
export const EXPLAINED_BY: Readonly<Partial<Record<FindingKind, readonly FindingKind[]>>> = {
  step_failed: [
    'fetched_nothing',
    'better_doc_not_fetched',
    'added_value_not_fetched',
    'call_found_nothing',
    'call_answered_error',
    'output_declines',
    'declined_for_lack_of_facts',
    'unknown_facts_added',
    'pure_addition_not_found',
    'added_value_not_found',
    'value_replaced_by_unknown',
    'field_filled',
    'ends_mid_sentence',
    'rewritten',
    'language_changed',
  ],
  schema_broken: ['number_changed', 'label_changed', 'choice_changed', 'both_computed'],
  input_slip: ['both_computed', 'correction_computes', 'output_computes', 'added_value_not_found', 'request_fits_both'],
  input_impossible: ['both_computed', 'added_value_not_found', 'value_replaced_by_unknown'],
  added_value_not_fetched: [
    'rewritten',
    'unsupported_value_replaced',
    'added_value_not_found',
    'removed_value_in_docs',
  ],
  request_fits_output: ['other_value_taken', 'added_value_in_docs', 'added_value_in_context'],
  guideline_backs_output: ['other_value_taken', 'added_value_in_context'],
  call_repeated: ['output_declines', 'declines_as_instructed', 'no_correction'],
  call_took_other_value: ['output_declines', 'no_correction', 'both_computed'],
  arguments_break_description: ['output_declines', 'no_correction'],
  language_changed: ['unsupported_value_replaced', 'added_value_not_found', 'correction_closer_to_request'],
}

/** The findings that locate the span of each error type, most reliable first. */
export const LOCATING: Readonly<Partial<Record<BuiltInErrorType, readonly FindingKind[]>>> = {
  system_failure: ['step_failed', 'run_unfinished', 'failure_unrecovered'],
  retrieval_failure: ['better_doc_not_fetched', 'fetched_nothing'],
  tool_invocation_error: [
    'arguments_break_description',
    'call_took_other_value',
    'call_repeated',
    'call_rejected',
    'other_tool_fits',
    'argument_differs',
    'call_answered_error',
    'argument_unsupported',
    'call_found_nothing',
  ],
  output_format_violation: ['schema_broken'],
  incomplete_output: ['cut_off'],
}
