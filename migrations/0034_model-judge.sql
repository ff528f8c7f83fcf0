CREATE TABLE `result_judgments` (
	`experiment_key` integer NOT NULL,
	`item_id` text NOT NULL,
	`said_same` integer,
	`verdict` text,
	`judged_at` integer NOT NULL,
	`model` text NOT NULL,
	`reason` text NOT NULL,
	PRIMARY KEY(`experiment_key`, `item_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `result_judgments_decided` ON `result_judgments` (`experiment_key`,`item_id`,`said_same`,`verdict`) WHERE "result_judgments"."verdict" is not null and "result_judgments"."said_same" is not null;--> statement-breakpoint
ALTER TABLE `gates` ADD `allow_judge` integer DEFAULT false NOT NULL;