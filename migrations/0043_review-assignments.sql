CREATE TABLE `review_assignments` (
	`trace_key` integer NOT NULL,
	`span_id` text NOT NULL,
	`user_id` text NOT NULL,
	`project_key` integer NOT NULL,
	`due_at` integer,
	`assigned_at` integer NOT NULL,
	`is_open` integer DEFAULT true NOT NULL,
	PRIMARY KEY(`trace_key`, `span_id`, `user_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `review_assignments_open` ON `review_assignments` (`project_key`,`user_id`,`due_at`) WHERE "review_assignments"."is_open" = 1;