CREATE TABLE `watch_looks` (
	`text_key` integer NOT NULL,
	`activated_at` integer NOT NULL,
	`look` integer NOT NULL,
	`looked_at` integer NOT NULL,
	`accepted` integer NOT NULL,
	`decided_before` integer NOT NULL,
	`accepted_before` integer NOT NULL,
	`error_types` text NOT NULL,
	`rolled_back_at` integer,
	PRIMARY KEY(`text_key`, `activated_at`, `look`)
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `gates` ADD `auto_rollback` integer DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX `reviews_by_version` ON `reviews` (`prompt_version_id`,`created_at`) WHERE "reviews"."prompt_version_id" <> '' and "reviews"."state" is not null and "reviews"."imported_at" is null;