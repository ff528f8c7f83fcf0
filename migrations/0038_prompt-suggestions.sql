CREATE TABLE `prompt_suggestion_examples` (
	`version_id` text NOT NULL,
	`span_id` text NOT NULL,
	`trace_key` integer NOT NULL,
	`serves` text NOT NULL,
	`copied` text NOT NULL,
	PRIMARY KEY(`version_id`, `span_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `prompt_suggestion_examples_by_trace` ON `prompt_suggestion_examples` (`trace_key`);--> statement-breakpoint
CREATE TABLE `prompt_suggestions` (
	`project_key` integer NOT NULL,
	`problem_id` text NOT NULL,
	`version_id` text NOT NULL,
	`prompt_id` text NOT NULL,
	`candidate_before` text,
	`requested_at` integer NOT NULL,
	`key_id` text,
	`user_id` text,
	`request_id` text NOT NULL,
	`base_version_id` text,
	`model` text,
	`answered_at` integer,
	`changes` text,
	`reasons` text,
	PRIMARY KEY(`project_key`, `problem_id`, `requested_at`, `version_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `prompt_suggestions_by_version` ON `prompt_suggestions` (`version_id`);--> statement-breakpoint
CREATE INDEX `prompt_suggestions_by_prompt` ON `prompt_suggestions` (`prompt_id`);