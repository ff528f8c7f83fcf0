/*
 * Which database each table is in if a deployment has more than one (docs/decisions/0014). A statement or batch runs in
 * one database, so the tables that it uses have to be in the same one.
 */

/**
 * - `trace`: the rows are in their trace's database, because they're written together with changes to the trace.
 * - `control`: the rows are in the control database, of which there is only one.
 * - `copied`: the rows in the control database are authoritative. Each trace database has a copy of them, which
 *   statements on traces can read.
 * - `every`: each database has its own rows, which are written together with the rows that they belong to.
 */
export type Home = 'trace' | 'control' | 'copied' | 'every'

/** The home of each table, by its name in SQL. */
export const HOMES = {
  organizations: 'control',
  projects: 'copied',
  users: 'copied',
  user_deletions: 'control',
  api_keys: 'control',
  sessions: 'control',
  sign_in_links: 'control',
  step_names: 'copied',
  saved_views: 'control',
  model_calls: 'control',
  audit_log: 'every',
  error_types: 'every',
  project_error_types: 'copied',
  attribution_jobs: 'trace',
  attributions: 'trace',
  review_days: 'trace',
  answer_days: 'trace',
  output_days: 'trace',
  use_days: 'trace',
  counted_days: 'trace',
  datasets: 'every',
  dataset_entries: 'every',
  dataset_removals: 'every',
  dataset_settings: 'copied',
  experiments: 'control',
  gates: 'control',
  experiment_results: 'control',
  result_judgments: 'control',
  model_jobs: 'control',
  problem_cases: 'trace',
  problem_days: 'trace',
  problem_ids: 'trace',
  problems: 'copied',
  prompt_suggestions: 'control',
  prompt_suggestion_examples: 'control',
  review_assignments: 'trace',
  review_policies: 'copied',
  review_policy_steps: 'copied',
  feedback: 'trace',
  reviews: 'trace',
  votes: 'trace',
  disputes: 'trace',
  review_claims: 'trace',
  suggestions: 'trace',
  spans: 'trace',
  observations: 'trace',
  sweeps: 'every',
  versioned_texts: 'copied',
  text_versions: 'copied',
  guidelines: 'control',
  text_activations: 'copied',
  watch_looks: 'copied',
  traces: 'trace',
  trace_fields: 'trace',
  copied_changes: 'control',
  copies: 'every',
  webhooks: 'control',
  webhook_events: 'every',
  webhook_deliveries: 'every',
} as const satisfies Record<string, Home>
