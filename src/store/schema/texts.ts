import { sql } from 'drizzle-orm'
import { integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import type { JsonObject } from '../../domain/json.ts'
import { TEXT_KINDS } from '../../domain/versioned-text.ts'

/** Prompts and knowledge docs. The database treats them the same: each has versions and a name in a project. */
export const versionedTexts = sqliteTable(
  'versioned_texts',
  {
    key: integer('key').primaryKey(),
    id: text('id').notNull().unique(),
    organizationKey: integer('organization_key').notNull(),
    projectKey: integer('project_key').notNull(),
    kind: text('kind', { enum: TEXT_KINDS }).notNull(),
    /** A prompt's step id or a knowledge doc's slug. */
    name: text('name').notNull(),
    /** A knowledge doc's title; '' for a prompt. */
    title: text('title').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  table => [uniqueIndex('versioned_texts_by_name').on(table.projectKey, table.kind, table.name)],
)

/**
 * Exactly one version of a text is active: the partial index allows only one, and each batch that deactivates one
 * activates another.
 */
export const textVersions = sqliteTable(
  'text_versions',
  {
    key: integer('key').primaryKey(),
    id: text('id').notNull().unique(),
    textKey: integer('text_key').notNull(),
    content: text('content').notNull(),
    /** A prompt's schema; null for a knowledge doc. */
    outputSchema: text('output_schema', { mode: 'json' }).$type<JsonObject>(),
    note: text('note'),
    isActive: integer('is_active', { mode: 'boolean' }).notNull(),
    createdAt: integer('created_at').notNull(),
    /** Numbered from 1 within a text. Null if an earlier release without version numbers added the version. */
    number: integer('number'),
  },
  table => [
    uniqueIndex('text_versions_by_number').on(table.textKey, table.number),
    uniqueIndex('text_versions_active').on(table.textKey).where(sql`${table.isActive} = 1`),
  ],
)

/** What reviewers need to know to judge a step's output. */
export const guidelines = sqliteTable(
  'guidelines',
  {
    projectKey: integer('project_key').notNull(),
    stepId: text('step_id').notNull(),
    /** UUIDv5 of `guideline:<stepId>` in the project. */
    id: text('id').notNull(),
    /** Markdown. Empty if it was cleared. */
    text: text('text').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  table => [primaryKey({ columns: [table.projectKey, table.stepId] })],
)

/** Every activation. Shows which version was active at a given time, and when the current version was activated. */
export const textActivations = sqliteTable(
  'text_activations',
  {
    textKey: integer('text_key').notNull(),
    activatedAt: integer('activated_at').notNull(),
    versionKey: integer('version_key').notNull(),
  },
  table => [primaryKey({ columns: [table.textKey, table.activatedAt, table.versionKey] })],
)

/**
 * The result of one look by a watch at a prompt's active version. Compares the decisions on this version with those on
 * the previous version. A row doesn't change when decisions are deleted later.
 */
export const watchLooks = sqliteTable(
  'watch_looks',
  {
    textKey: integer('text_key').notNull(),
    /** The key of the activation in `textActivations`. A text has only one activation at any given time. */
    activatedAt: integer('activated_at').notNull(),
    /** How many decisions on the new version the look counts. */
    look: integer('look').notNull(),
    /** The time of the last of these decisions. Decisions on the previous version are counted up to that time. */
    lookedAt: integer('looked_at').notNull(),
    accepted: integer('accepted').notNull(),
    /** The number of decisions on the previous version. */
    decidedBefore: integer('decided_before').notNull(),
    acceptedBefore: integer('accepted_before').notNull(),
    /** How many decisions name each error type: a JSON array of `[error type, before, after]`. */
    errorTypes: text('error_types', { mode: 'json' }).$type<[string, number, number][]>().notNull(),
    /** When the service reactivated the previous version because of this look. This is the key of that activation. */
    rolledBackAt: integer('rolled_back_at'),
  },
  table => [primaryKey({ columns: [table.textKey, table.activatedAt, table.look] })],
)
