CREATE TABLE `dataset_entries` (
	`project_key` integer NOT NULL,
	`step_id` text NOT NULL,
	`trace_key` integer NOT NULL,
	`item_id` text NOT NULL,
	`sequence` integer NOT NULL,
	`change` text NOT NULL,
	`decision` text,
	`split` text NOT NULL,
	`is_split_set` integer NOT NULL,
	`is_excluded` integer NOT NULL,
	`is_stale` integer NOT NULL,
	`values_sequence` integer NOT NULL,
	`review_id` text,
	`reviewed_id` text,
	`user_id` text,
	`decided_at` integer NOT NULL,
	`error_type` text,
	`prompt_version_id` text,
	`input_hash` text NOT NULL,
	`output_revision` text NOT NULL,
	`note` text,
	`alternatives` text,
	`objects` text,
	`input` text,
	`input_ref` text,
	`state` text,
	`state_ref` text,
	`output` text,
	`output_ref` text,
	`expected` text,
	`expected_ref` text,
	`metadata` text,
	`metadata_ref` text,
	PRIMARY KEY(`project_key`, `step_id`, `trace_key`, `item_id`, `sequence`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `dataset_removals` (
	`project_key` integer NOT NULL,
	`step_id` text NOT NULL,
	`added` integer NOT NULL,
	`ended` integer,
	PRIMARY KEY(`project_key`, `step_id`, `added`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `dataset_settings` (
	`project_key` integer NOT NULL,
	`step_id` text NOT NULL,
	`evaluator` text NOT NULL,
	PRIMARY KEY(`project_key`, `step_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `datasets` (
	`project_key` integer NOT NULL,
	`step_id` text NOT NULL,
	`organization_key` integer NOT NULL,
	`id` text NOT NULL,
	`sequence` integer NOT NULL,
	`accepted` integer NOT NULL,
	`corrected` integer NOT NULL,
	`imported` integer NOT NULL,
	`excluded` integer NOT NULL,
	`removed` integer NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`project_key`, `step_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `datasets_by_id` ON `datasets` (`id`);--> statement-breakpoint
ALTER TABLE `step_names` ADD `dataset_id` text;--> statement-breakpoint
CREATE INDEX `step_names_by_dataset` ON `step_names` (`dataset_id`);--> statement-breakpoint
ALTER TABLE `traces` ADD `items_due_at` integer;--> statement-breakpoint
CREATE INDEX `traces_with_items_due` ON `traces` (`items_due_at`) WHERE "traces"."items_due_at" is not null;