ALTER TABLE `spans` ADD `model` text;--> statement-breakpoint
ALTER TABLE `spans` ADD `provider` text;--> statement-breakpoint
ALTER TABLE `spans` ADD `usage` text;--> statement-breakpoint
ALTER TABLE `spans` ADD `cost_usd` real;