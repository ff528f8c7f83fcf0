CREATE TABLE `api_keys` (
	`key` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`hash` text NOT NULL,
	`prefix` text NOT NULL,
	`name` text NOT NULL,
	`organization_key` integer NOT NULL,
	`project_key` integer,
	`user_id` text,
	`scopes` text NOT NULL,
	`rate_limit_per_minute` integer,
	`expires_at` integer,
	`revoked_at` integer,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_id_unique` ON `api_keys` (`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_hash_unique` ON `api_keys` (`hash`);--> statement-breakpoint
CREATE INDEX `api_keys_by_organization` ON `api_keys` (`organization_key`);--> statement-breakpoint
CREATE TABLE `feedback` (
	`id` text NOT NULL,
	`trace_key` integer NOT NULL,
	`span_id` text,
	`user_id` text NOT NULL,
	`rating` text,
	`comment` text,
	`correction` text,
	`labeller` text,
	`timestamp` integer NOT NULL,
	`received_at` integer NOT NULL,
	`created_by` text NOT NULL,
	PRIMARY KEY(`id`, `trace_key`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `feedback_by_trace` ON `feedback` (`trace_key`);--> statement-breakpoint
CREATE TABLE `observations` (
	`trace_key` integer NOT NULL,
	`id` text NOT NULL,
	`span_id` text,
	`type` text NOT NULL,
	`state_key` text,
	`data` text NOT NULL,
	`data_ref` text,
	`timestamp` integer NOT NULL,
	`received_at` integer NOT NULL,
	PRIMARY KEY(`trace_key`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `organizations` (
	`key` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`slug` text NOT NULL,
	`name` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `organizations_id_unique` ON `organizations` (`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `organizations_slug_unique` ON `organizations` (`slug`);--> statement-breakpoint
CREATE TABLE `projects` (
	`key` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`organization_key` integer NOT NULL,
	`slug` text NOT NULL,
	`name` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `projects_id_unique` ON `projects` (`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `projects_by_slug` ON `projects` (`organization_key`,`slug`);--> statement-breakpoint
CREATE INDEX `projects_by_organization` ON `projects` (`organization_key`);--> statement-breakpoint
CREATE TABLE `spans` (
	`id` text NOT NULL,
	`trace_key` integer NOT NULL,
	`is_root` integer NOT NULL,
	`parent_id` text,
	`step_id` text NOT NULL,
	`timestamp` integer NOT NULL,
	`prompt_version_id` text,
	`metadata` text NOT NULL,
	`has_output` integer DEFAULT false NOT NULL,
	PRIMARY KEY(`id`, `trace_key`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `spans_by_trace` ON `spans` (`trace_key`) WHERE "spans"."is_root" = 0;--> statement-breakpoint
CREATE TABLE `trace_fields` (
	`project_key` integer NOT NULL,
	`path` text NOT NULL,
	`value` text NOT NULL,
	`timestamp` integer NOT NULL,
	`trace_key` integer NOT NULL,
	PRIMARY KEY(`project_key`, `path`, `value`, `timestamp`, `trace_key`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `traces` (
	`key` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`organization_key` integer NOT NULL,
	`project_key` integer NOT NULL,
	`trace_id` text NOT NULL,
	`root_span_id` text NOT NULL,
	`name` text NOT NULL,
	`status` text NOT NULL,
	`timestamp` integer NOT NULL,
	`duration_ms` integer,
	`metadata` text NOT NULL,
	`completed_fields` text NOT NULL,
	`revision` text NOT NULL,
	`received_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`deleted_at` integer,
	`purge_due_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `traces_by_id` ON `traces` (`id`) WHERE "traces"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX `traces_by_time` ON `traces` (`project_key`,`timestamp`,`id`) WHERE "traces"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX `traces_to_purge` ON `traces` (`purge_due_at`) WHERE "traces"."purge_due_at" is not null;--> statement-breakpoint
CREATE TABLE `users` (
	`organization_key` integer NOT NULL,
	`id` text NOT NULL,
	`email` text NOT NULL,
	`name` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`organization_key`, `id`)
) WITHOUT ROWID;
