import { integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { DATASET_CHANGES, ITEM_DECISIONS } from '../../domain/dataset.ts'

/*
 * Ground truth: each step's items, which decisions create. Like other rows, items keep the step ids that pipelines
 * send; a dataset is read under its step's current name, so it may consist of several rows.
 */

/** The log position and the counts of a step's items. */
export const datasets = sqliteTable(
  'datasets',
  {
    projectKey: integer('project_key').notNull(),
    stepId: text('step_id').notNull(),
    organizationKey: integer('organization_key').notNull(),
    /** UUIDv5 of `dataset:<stepId>` in the project. */
    id: text('id').notNull(),
    /** The number of the last entry. A version of the dataset is identified by the number of the last entry in it. */
    sequence: integer('sequence').notNull(),
    accepted: integer('accepted').notNull(),
    corrected: integer('corrected').notNull(),
    imported: integer('imported').notNull(),
    /** How many of these items are excluded. */
    excluded: integer('excluded').notNull(),
    /** How many items have left the dataset because their trace was deleted. */
    removed: integer('removed').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  table => [primaryKey({ columns: [table.projectKey, table.stepId] }), uniqueIndex('datasets_by_id').on(table.id)],
)

/**
 * The log: each entry is an item's state after one change. The last entry up to a version has the item's state at that
 * version. A purge deletes a trace's entries; nothing else changes or deletes entries.
 *
 * The narrow columns come first: SQLite then reads them without the pages that hold the values.
 */
export const datasetEntries = sqliteTable(
  'dataset_entries',
  {
    projectKey: integer('project_key').notNull(),
    stepId: text('step_id').notNull(),
    /** 0 for imported examples. */
    traceKey: integer('trace_key').notNull(),
    /** The item's id: its span's, or the imported example's. */
    itemId: text('item_id').notNull(),
    sequence: integer('sequence').notNull(),
    change: text('change', { enum: DATASET_CHANGES }).notNull(),
    /** Null if the item is no longer in the dataset: its decision was reset, or its span moved to another step. */
    decision: text('decision', { enum: ITEM_DECISIONS }),
    split: text('split').notNull(),
    /** Whether somebody chose the split. */
    isSplitSet: integer('is_split_set', { mode: 'boolean' }).notNull(),
    isExcluded: integer('is_excluded', { mode: 'boolean' }).notNull(),
    /** Whether the output has changed since the decision. */
    isStale: integer('is_stale', { mode: 'boolean' }).notNull(),
    /** The entry with the item's values: its last decision or import. */
    valuesSequence: integer('values_sequence').notNull(),
    /** The decision's id in `reviews`. Null for an imported example. */
    reviewId: text('review_id'),
    /** The reviewed span. It isn't the item's own span if the item is a root that's reviewed with it. */
    reviewedId: text('reviewed_id'),
    /** Who made the decision or the import. */
    userId: text('user_id'),
    decidedAt: integer('decided_at').notNull(),
    errorType: text('error_type'),
    promptVersionId: text('prompt_version_id'),
    /** The first 128 bits of the SHA-256 of the canonical input. */
    inputHash: text('input_hash').notNull(),
    /** The judged output. */
    outputRevision: text('output_revision').notNull(),
    note: text('note'),
    /** Other values that people accepted: a JSON array of `[text, ref, experiment id]`. Null if there are none. */
    alternatives: text('alternatives'),
    /** The names of the R2 objects with its values, as a JSON array. Null if there are none. */
    objects: text('objects'),
    input: text('input'),
    inputRef: text('input_ref'),
    /** A JSON array of `[key, text, ref]`, and the object with that array if it's large. */
    state: text('state'),
    stateRef: text('state_ref'),
    output: text('output'),
    outputRef: text('output_ref'),
    expected: text('expected'),
    expectedRef: text('expected_ref'),
    metadata: text('metadata'),
    metadataRef: text('metadata_ref'),
  },
  table => [primaryKey({ columns: [table.projectKey, table.stepId, table.traceKey, table.itemId, table.sequence] })],
)

/**
 * One row for each period in which an item that was later purged was in the dataset, with the numbers of the entries
 * that added and removed the item. The rows contain no personal data, but show how many items a version has lost.
 */
export const datasetRemovals = sqliteTable(
  'dataset_removals',
  {
    projectKey: integer('project_key').notNull(),
    stepId: text('step_id').notNull(),
    added: integer('added').notNull(),
    /** Null if the item was still in the dataset when it was purged. */
    ended: integer('ended'),
  },
  table => [primaryKey({ columns: [table.projectKey, table.stepId, table.added] })],
)

/** The settings of a step's dataset. */
export const datasetSettings = sqliteTable(
  'dataset_settings',
  {
    projectKey: integer('project_key').notNull(),
    stepId: text('step_id').notNull(),
    /** An `Evaluator` as JSON. */
    evaluator: text('evaluator').notNull(),
  },
  table => [primaryKey({ columns: [table.projectKey, table.stepId] })],
)
