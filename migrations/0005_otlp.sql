ALTER TABLE `spans` ADD `is_generic` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `spans` ADD `state` text;--> statement-breakpoint
ALTER TABLE `spans` ADD `state_ref` text;--> statement-breakpoint
ALTER TABLE `spans` ADD `export_revision` text;--> statement-breakpoint
ALTER TABLE `traces` ADD `is_posted` integer DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE `traces` ADD `derivation` text;--> statement-breakpoint
ALTER TABLE `traces` ADD `closes_at` integer;--> statement-breakpoint
ALTER TABLE `traces` ADD `is_generic` integer DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX `traces_to_close` ON `traces` (`closes_at`) WHERE "traces"."deleted_at" is null and "traces"."closes_at" is not null;