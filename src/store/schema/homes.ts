/*
 * Where each table is once a deployment has more than one database (docs/decisions/0014). A statement goes to one
 * database, and so do the writes of a batch, so the tables that they use together have to be in the same database.
 */

/**
 * - `trace`: rows that are written with a trace's change are in the trace's database.
 * - `control`: everything else is in the control database. There is only one.
 * - `copied`: the control database decides. Each trace database has a copy, so that statements on traces can read it.
 * - `every`: each database has rows of its own, written with the rows that they belong to.
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
