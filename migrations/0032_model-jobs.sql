CREATE TABLE `model_jobs` (
	`organization_key` integer NOT NULL,
	`project_key` integer NOT NULL,
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`status` text NOT NULL,
	`requests` integer NOT NULL,
	`requested_at` integer NOT NULL,
	`attempts` integer NOT NULL,
	`lease_token` text,
	`lease_until` integer,
	`due_at` integer,
	`waits_until` integer,
	`failure` text,
	`result` text,
	PRIMARY KEY(`organization_key`, `kind`, `subject`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `model_jobs_due` ON `model_jobs` (`due_at`) WHERE "model_jobs"."due_at" is not null;--> statement-breakpoint
CREATE INDEX `model_jobs_by_project` ON `model_jobs` (`project_key`);