CREATE TABLE `saved_views` (
	`project_key` integer NOT NULL,
	`owner_id` text NOT NULL,
	`page` text NOT NULL,
	`name` text NOT NULL,
	`id` text NOT NULL,
	`query` text NOT NULL,
	`is_shared` integer NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`project_key`, `owner_id`, `page`, `name`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `saved_views_by_id` ON `saved_views` (`id`);--> statement-breakpoint
CREATE INDEX `saved_views_shared` ON `saved_views` (`project_key`) WHERE "saved_views"."is_shared" = 1;