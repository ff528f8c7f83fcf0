import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'

/**
 * Prompt versions that a model was asked to write, with the model's changes to the version that was active at the time.
 */
export const promptSuggestions = sqliteTable(
  'prompt_suggestions',
  {
    projectKey: integer('project_key').notNull(),
    problemId: text('problem_id').notNull(),
    /** Chosen by the request, so a job that runs twice doesn't add a second version. */
    versionId: text('version_id').notNull(),
    promptId: text('prompt_id').notNull(),
    /** The version that was the problem's candidate at the time of the request. */
    candidateBefore: text('candidate_before'),
    requestedAt: integer('requested_at').notNull(),
    /** Who asked for it, and in which request, for the audit log. Null once the version has been added. */
    keyId: text('key_id'),
    userId: text('user_id'),
    requestId: text('request_id').notNull(),
    /** This column and the following ones are null until the model has answered. */
    baseVersionId: text('base_version_id'),
    model: text('model'),
    answeredAt: integer('answered_at'),
    /** `StoredChange`s as a JSON array. They're parts of the two versions. */
    changes: text('changes'),
    /** The reason for each change, as a JSON array. Null once an example is gone, because a reason may quote it. */
    reasons: text('reasons'),
  },
  table => [
    primaryKey({ columns: [table.projectKey, table.problemId, table.requestedAt, table.versionId] }),
    uniqueIndex('prompt_suggestions_by_version').on(table.versionId),
    index('prompt_suggestions_by_prompt').on(table.promptId),
  ],
)

/** The corrected outputs that a suggestion is based on. They're deleted with their traces. */
export const promptSuggestionExamples = sqliteTable(
  'prompt_suggestion_examples',
  {
    versionId: text('version_id').notNull(),
    spanId: text('span_id').notNull(),
    traceKey: integer('trace_key').notNull(),
    /**
     * The indexes of the changes that are based on this example, and of the changes with words copied from it, as JSON
     * arrays.
     */
    serves: text('serves').notNull(),
    copied: text('copied').notNull(),
  },
  table => [
    primaryKey({ columns: [table.versionId, table.spanId] }),
    index('prompt_suggestion_examples_by_trace').on(table.traceKey),
  ],
)
