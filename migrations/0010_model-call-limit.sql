CREATE TABLE `model_calls` (
	`project_key` integer PRIMARY KEY NOT NULL,
	`day` integer NOT NULL,
	`calls` integer NOT NULL
);
--> statement-breakpoint
ALTER TABLE `attribution_jobs` ADD `waits_until` integer;