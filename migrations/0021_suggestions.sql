CREATE TABLE `suggestions` (
	`trace_key` integer NOT NULL,
	`span_id` text NOT NULL,
	`user_id` text NOT NULL,
	`id` text NOT NULL,
	`created_at` integer NOT NULL,
	`decision` text NOT NULL,
	`output_revision` text NOT NULL,
	`approved` text,
	`approved_ref` text,
	`approved_hash` text,
	`comment` text,
	`error_type` text,
	PRIMARY KEY(`trace_key`, `span_id`, `user_id`)
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `spans` ADD `has_suggestions` integer DEFAULT false NOT NULL;