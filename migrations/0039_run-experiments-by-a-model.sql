ALTER TABLE `experiments` ADD `item_id` text;--> statement-breakpoint
ALTER TABLE `experiments` ADD `end_reason` text;--> statement-breakpoint
ALTER TABLE `experiments` ADD `run_place` text;--> statement-breakpoint
ALTER TABLE `experiments` ADD `run_nano_usd` integer;