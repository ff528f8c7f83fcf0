CREATE TABLE `webhook_deliveries` (
	`webhook_key` integer NOT NULL,
	`sequence` integer NOT NULL,
	`state` text NOT NULL,
	`attempts` integer NOT NULL,
	`next_attempt_at` integer,
	`lease_token` text,
	`attempted_at` integer,
	`duration_ms` integer,
	`status` integer,
	`fault` text,
	`answer` text,
	PRIMARY KEY(`webhook_key`, `sequence`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `webhook_deliveries_due` ON `webhook_deliveries` (`webhook_key`,`next_attempt_at`) WHERE "webhook_deliveries"."next_attempt_at" is not null;--> statement-breakpoint
CREATE TABLE `webhook_events` (
	`sequence` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`organization_key` integer NOT NULL,
	`project_key` integer,
	`type` text NOT NULL,
	`trace_key` integer,
	`subject_id` text NOT NULL,
	`actor_id` text,
	`at` integer NOT NULL,
	`data` text NOT NULL,
	`is_new` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `webhook_events_id_unique` ON `webhook_events` (`id`);--> statement-breakpoint
CREATE INDEX `webhook_events_new` ON `webhook_events` (`project_key`,`sequence`) WHERE "webhook_events"."is_new" = 1;--> statement-breakpoint
CREATE INDEX `webhook_events_by_trace` ON `webhook_events` (`trace_key`) WHERE "webhook_events"."trace_key" is not null;--> statement-breakpoint
CREATE TABLE `webhooks` (
	`key` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`organization_key` integer NOT NULL,
	`project_key` integer,
	`request_hash` text NOT NULL,
	`sealed` text NOT NULL,
	`events` text NOT NULL,
	`format` text NOT NULL,
	`includes_values` integer NOT NULL,
	`description` text NOT NULL,
	`origin` text NOT NULL,
	`old_secret_until` integer,
	`is_enabled` integer NOT NULL,
	`disabled_at` integer,
	`disabled_reason` text,
	`failing_since` integer,
	`rest_count` integer NOT NULL,
	`rests_until` integer,
	`due_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `webhooks_by_id` ON `webhooks` (`id`,`organization_key`);--> statement-breakpoint
CREATE INDEX `webhooks_by_organization` ON `webhooks` (`organization_key`);--> statement-breakpoint
CREATE INDEX `webhooks_sending` ON `webhooks` (`organization_key`) WHERE "webhooks"."is_enabled" = 1;--> statement-breakpoint
CREATE INDEX `webhooks_due` ON `webhooks` (`due_at`) WHERE "webhooks"."due_at" is not null;