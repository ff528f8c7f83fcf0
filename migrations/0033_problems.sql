CREATE TABLE `problem_cases` (
	`trace_key` integer NOT NULL,
	`span_id` text NOT NULL,
	`project_key` integer NOT NULL,
	`step_id` text NOT NULL,
	`error_type` text NOT NULL,
	`doc_slug` text NOT NULL,
	`is_by_engine` integer NOT NULL,
	`at` integer NOT NULL,
	PRIMARY KEY(`trace_key`, `span_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `problem_cases_by_problem` ON `problem_cases` (`project_key`,`step_id`,`error_type`,`doc_slug`,`at`);--> statement-breakpoint
CREATE TABLE `problem_days` (
	`project_key` integer NOT NULL,
	`day` integer NOT NULL,
	`step_id` text NOT NULL,
	`error_type` text NOT NULL,
	`doc_slug` text NOT NULL,
	`by_reviewers` integer NOT NULL,
	`by_engine` integer NOT NULL,
	`expired_by_reviewers` integer NOT NULL,
	`expired_by_engine` integer NOT NULL,
	PRIMARY KEY(`project_key`, `day`, `step_id`, `error_type`, `doc_slug`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `problem_ids` (
	`project_key` integer NOT NULL,
	`step_id` text NOT NULL,
	`error_type` text NOT NULL,
	`doc_slug` text NOT NULL,
	`id` text,
	PRIMARY KEY(`project_key`, `step_id`, `error_type`, `doc_slug`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `problem_ids_by_id` ON `problem_ids` (`id`) WHERE "problem_ids"."id" is not null;--> statement-breakpoint
CREATE INDEX `problem_ids_unnamed` ON `problem_ids` (`project_key`) WHERE "problem_ids"."id" is null;--> statement-breakpoint
CREATE TABLE `problems` (
	`project_key` integer NOT NULL,
	`step_id` text NOT NULL,
	`error_type` text NOT NULL,
	`doc_slug` text NOT NULL,
	`is_dismissed` integer NOT NULL,
	`note` text,
	`assignee_id` text,
	`candidate_version_id` text,
	`candidate_at` integer,
	`verified_at` integer,
	`updated_at` integer NOT NULL,
	`revision` text NOT NULL,
	PRIMARY KEY(`project_key`, `step_id`, `error_type`, `doc_slug`)
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `attributions` ADD `doc_slug` text;