CREATE TABLE `user_deletions` (
	`organization_key` integer NOT NULL,
	`user_id` text NOT NULL,
	`new_id` text NOT NULL,
	`deleted_at` integer NOT NULL,
	`due_at` integer NOT NULL,
	`pass_started_at` integer NOT NULL,
	`cursor` text NOT NULL,
	PRIMARY KEY(`organization_key`, `user_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `user_deletions_due` ON `user_deletions` (`due_at`);--> statement-breakpoint
ALTER TABLE `api_keys` ADD `replaced_by` text;--> statement-breakpoint
ALTER TABLE `users` ADD `unchecked_since` integer;--> statement-breakpoint
CREATE INDEX `users_confirmed` ON `users` (`email`) WHERE "users"."created_by" is not null;--> statement-breakpoint
CREATE INDEX `users_to_check` ON `users` (`organization_key`) WHERE "users"."unchecked_since" is not null;--> statement-breakpoint
UPDATE `users` SET `unchecked_since` = 0 WHERE `created_by` IS NULL;
