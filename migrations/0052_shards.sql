CREATE TABLE `copied_changes` (
	`sequence` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`organization_key` integer NOT NULL,
	`table_name` text NOT NULL,
	`row_key` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `copied_changes_by_organization` ON `copied_changes` (`organization_key`,`sequence`);--> statement-breakpoint
CREATE TABLE `copies` (
	`organization_key` integer PRIMARY KEY NOT NULL,
	`sequence` integer NOT NULL
);
--> statement-breakpoint
ALTER TABLE `projects` ADD `epochs` text;--> statement-breakpoint
CREATE INDEX `projects_with_epochs` ON `projects` (`organization_key`,`epochs`) WHERE "projects"."epochs" is not null;