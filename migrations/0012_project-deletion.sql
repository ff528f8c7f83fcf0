ALTER TABLE `projects` ADD `deleted_at` integer;--> statement-breakpoint
ALTER TABLE `projects` ADD `purge_due_at` integer;--> statement-breakpoint
CREATE INDEX `projects_to_purge` ON `projects` (`purge_due_at`) WHERE "projects"."purge_due_at" is not null;--> statement-breakpoint
CREATE INDEX `projects_being_purged` ON `projects` (`organization_key`) WHERE "projects"."purge_due_at" is not null;