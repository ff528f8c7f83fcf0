ALTER TABLE `answer_days` ADD `expired` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `answer_days_expired` ON `answer_days` (`project_key`,`day`) WHERE "answer_days"."expired" > 0;