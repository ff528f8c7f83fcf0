CREATE TABLE `attribution_jobs` (
	`trace_key` integer PRIMARY KEY NOT NULL,
	`organization_key` integer NOT NULL,
	`project_key` integer NOT NULL,
	`status` text NOT NULL,
	`requests` integer NOT NULL,
	`requested_at` integer NOT NULL,
	`attempts` integer NOT NULL,
	`lease_token` text,
	`lease_until` integer,
	`due_at` integer,
	`failure` text,
	`basis` text,
	`attribution_number` integer DEFAULT 0 NOT NULL,
	`error_type` text
);
--> statement-breakpoint
CREATE INDEX `attribution_jobs_due` ON `attribution_jobs` (`due_at`) WHERE "attribution_jobs"."due_at" is not null;--> statement-breakpoint
CREATE TABLE `attributions` (
	`trace_key` integer NOT NULL,
	`number` integer NOT NULL,
	`id` text NOT NULL,
	`project_key` integer NOT NULL,
	`created_at` integer NOT NULL,
	`error_type` text NOT NULL,
	`confidence` real NOT NULL,
	`span_id` text,
	`reasoning` text NOT NULL,
	`alternatives` text NOT NULL,
	`evidence` text NOT NULL,
	`engine` text NOT NULL,
	`duration_ms` integer NOT NULL,
	`input_tokens` integer,
	`output_tokens` integer,
	`cost_usd` real,
	PRIMARY KEY(`trace_key`, `number`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `project_error_types` (
	`project_key` integer NOT NULL,
	`error_type` text NOT NULL,
	`id` text NOT NULL,
	`name` text,
	`category` text,
	`rule` text,
	`is_enabled` integer NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`project_key`, `error_type`)
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `projects` ADD `auto_attribute` integer DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX `reviews_with_error_type` ON `reviews` (`project_key`,`created_at`) WHERE "reviews"."error_type" is not null;