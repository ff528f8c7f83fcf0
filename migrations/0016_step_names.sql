CREATE TABLE `step_names` (
	`project_key` integer NOT NULL,
	`old_name` text NOT NULL,
	`new_name` text NOT NULL,
	PRIMARY KEY(`project_key`, `old_name`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `step_names_by_new_name` ON `step_names` (`project_key`,`new_name`);