CREATE TABLE `disputes` (
	`trace_key` integer NOT NULL,
	`span_id` text NOT NULL,
	`project_key` integer NOT NULL,
	`disputed_at` integer NOT NULL,
	PRIMARY KEY(`trace_key`, `span_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `disputes_by_time` ON `disputes` (`project_key`,`disputed_at`,`trace_key`,`span_id`);--> statement-breakpoint
CREATE TABLE `review_claims` (
	`trace_key` integer NOT NULL,
	`span_id` text NOT NULL,
	`user_id` text NOT NULL,
	`until` integer NOT NULL,
	PRIMARY KEY(`trace_key`, `span_id`, `user_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `votes` (
	`trace_key` integer NOT NULL,
	`span_id` text NOT NULL,
	`round` integer NOT NULL,
	`output_revision` text NOT NULL,
	`output_hash` text NOT NULL,
	`user_id` text NOT NULL,
	`id` text NOT NULL,
	`project_key` integer NOT NULL,
	`step_id` text NOT NULL,
	`decision` text NOT NULL,
	`approved` text,
	`approved_ref` text,
	`approved_hash` text,
	`comment` text,
	`error_type` text,
	`created_at` integer NOT NULL,
	`reviewers` integer NOT NULL,
	`first_decision` text NOT NULL,
	`first_error_type` text,
	`first_at` integer NOT NULL,
	`is_blind` integer NOT NULL,
	`is_sampled` integer NOT NULL,
	PRIMARY KEY(`trace_key`, `span_id`, `round`, `output_revision`, `user_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `votes_by_time` ON `votes` (`project_key`,`first_at`,`user_id`,`decision`);--> statement-breakpoint
ALTER TABLE `review_days` ADD `by_votes` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `reviews` ADD `basis` text;--> statement-breakpoint
ALTER TABLE `spans` ADD `vote_number` integer DEFAULT 0 NOT NULL;