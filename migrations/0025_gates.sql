CREATE TABLE `gates` (
	`project_key` integer NOT NULL,
	`step_id` text NOT NULL,
	`id` text NOT NULL,
	`min_items` integer NOT NULL,
	`min_pass_rate` real,
	`max_regressed` integer,
	`max_unjudged` integer,
	`max_age_days` real,
	`split` text NOT NULL,
	`updated_at` integer NOT NULL,
	`revision` text NOT NULL,
	PRIMARY KEY(`project_key`, `step_id`)
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `audit_log` ADD `reason` text;