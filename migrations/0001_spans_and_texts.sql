CREATE TABLE `sweeps` (
	`name` text PRIMARY KEY NOT NULL,
	`cursor` text NOT NULL,
	`due_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `text_activations` (
	`text_key` integer NOT NULL,
	`activated_at` integer NOT NULL,
	`version_key` integer NOT NULL,
	PRIMARY KEY(`text_key`, `activated_at`, `version_key`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `text_versions` (
	`key` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`text_key` integer NOT NULL,
	`content` text NOT NULL,
	`output_schema` text,
	`note` text,
	`is_active` integer NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `text_versions_id_unique` ON `text_versions` (`id`);--> statement-breakpoint
CREATE INDEX `text_versions_by_text` ON `text_versions` (`text_key`);--> statement-breakpoint
CREATE UNIQUE INDEX `text_versions_active` ON `text_versions` (`text_key`) WHERE "text_versions"."is_active" = 1;--> statement-breakpoint
CREATE TABLE `versioned_texts` (
	`key` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`organization_key` integer NOT NULL,
	`project_key` integer NOT NULL,
	`kind` text NOT NULL,
	`name` text NOT NULL,
	`title` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `versioned_texts_id_unique` ON `versioned_texts` (`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `versioned_texts_by_name` ON `versioned_texts` (`project_key`,`kind`,`name`);--> statement-breakpoint
DROP INDEX `traces_by_time`;--> statement-breakpoint
CREATE INDEX `traces_by_time` ON `traces` (`project_key`,`timestamp`,`id`,`name`) WHERE "traces"."deleted_at" is null;--> statement-breakpoint
CREATE TABLE `__new_spans` (
	`id` text NOT NULL,
	`trace_key` integer NOT NULL,
	`is_root` integer NOT NULL,
	`parent_id` text,
	`step_id` text NOT NULL,
	`timestamp` integer NOT NULL,
	`prompt_version_id` text,
	`metadata` text,
	`has_output` integer DEFAULT false NOT NULL,
	`status` text,
	`duration_ms` integer,
	`input` text,
	`input_ref` text,
	`output` text,
	`output_ref` text,
	`output_revision` text,
	PRIMARY KEY(`id`, `trace_key`)
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `__new_spans`("id", "trace_key", "is_root", "parent_id", "step_id", "timestamp", "prompt_version_id", "metadata", "has_output") SELECT "id", "trace_key", "is_root", "parent_id", "step_id", "timestamp", "prompt_version_id", "metadata", "has_output" FROM `spans`;--> statement-breakpoint
DROP TABLE `spans`;--> statement-breakpoint
ALTER TABLE `__new_spans` RENAME TO `spans`;--> statement-breakpoint
CREATE INDEX `spans_by_trace` ON `spans` (`trace_key`) WHERE "spans"."is_root" = 0;--> statement-breakpoint
CREATE UNIQUE INDEX `users_by_email` ON `users` (`organization_key`,`email`);--> statement-breakpoint
ALTER TABLE `users` ADD `created_by` text;