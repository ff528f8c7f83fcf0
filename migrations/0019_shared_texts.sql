ALTER TABLE `observations` ADD `text_hash` integer;--> statement-breakpoint
ALTER TABLE `spans` ADD `text_hash` integer;--> statement-breakpoint
ALTER TABLE `spans` ADD `text_id` text;