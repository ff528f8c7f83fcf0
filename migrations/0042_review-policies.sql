CREATE TABLE `review_policies` (
	`project_key` integer PRIMARY KEY NOT NULL,
	`always_negative` integer NOT NULL,
	`always_error` integer NOT NULL,
	`always_low_confidence` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`revision` text NOT NULL,
	`pass_due_at` integer NOT NULL,
	`is_pass_over_left_out` integer NOT NULL,
	`pass_timestamp` integer NOT NULL,
	`pass_trace_id` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `review_policies_due` ON `review_policies` (`pass_due_at`);--> statement-breakpoint
CREATE TABLE `review_policy_steps` (
	`project_key` integer NOT NULL,
	`step_id` text NOT NULL,
	`sample` real NOT NULL,
	`reviewers` integer NOT NULL,
	`is_blind` integer NOT NULL,
	PRIMARY KEY(`project_key`, `step_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `traces_left_out` ON `traces` (`project_key`,`timestamp`,`id`) WHERE "traces"."deleted_at" is null and "traces"."needs_review" = 2;