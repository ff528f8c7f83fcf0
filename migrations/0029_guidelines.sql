CREATE TABLE `guidelines` (
	`project_key` integer NOT NULL,
	`step_id` text NOT NULL,
	`id` text NOT NULL,
	`text` text NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`project_key`, `step_id`)
) WITHOUT ROWID;
