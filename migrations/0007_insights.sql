CREATE TABLE `answer_days` (
	`project_key` integer NOT NULL,
	`day` integer NOT NULL,
	`step_id` text NOT NULL,
	`error_type` text NOT NULL,
	`answers` integer NOT NULL,
	PRIMARY KEY(`project_key`, `day`, `step_id`, `error_type`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `counted_days` (
	`project_key` integer NOT NULL,
	`day` integer NOT NULL,
	`counted_at` integer,
	`rests_until` integer NOT NULL,
	`due_at` integer,
	`is_changed` integer NOT NULL,
	`progress` text,
	PRIMARY KEY(`project_key`, `day`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `counted_days_due` ON `counted_days` (`due_at`) WHERE "counted_days"."due_at" is not null;--> statement-breakpoint
CREATE TABLE `output_days` (
	`project_key` integer NOT NULL,
	`day` integer NOT NULL,
	`step_id` text NOT NULL,
	`outputs` integer NOT NULL,
	`reviewed` integer NOT NULL,
	PRIMARY KEY(`project_key`, `day`, `step_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `review_days` (
	`project_key` integer NOT NULL,
	`day` integer NOT NULL,
	`step_id` text NOT NULL,
	`prompt_version_id` text NOT NULL,
	`user_id` text NOT NULL,
	`error_type` text NOT NULL,
	`accepted` integer NOT NULL,
	`corrected` integer NOT NULL,
	PRIMARY KEY(`project_key`, `day`, `step_id`, `prompt_version_id`, `user_id`, `error_type`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `review_days_by_version` ON `review_days` (`prompt_version_id`) WHERE "review_days"."prompt_version_id" <> '';--> statement-breakpoint
ALTER TABLE `attributions` ADD `step_id` text;--> statement-breakpoint
ALTER TABLE `reviews` ADD `step_id` text;--> statement-breakpoint
ALTER TABLE `reviews` ADD `prompt_version_id` text;--> statement-breakpoint
UPDATE `reviews` SET (`step_id`, `prompt_version_id`) = (SELECT `step_id`, coalesce(`prompt_version_id`, '') FROM `spans` WHERE `spans`.`id` = `reviews`.`span_id` AND `spans`.`trace_key` = `reviews`.`trace_key`) WHERE `state` IS NOT NULL AND `number` = (SELECT `review_number` FROM `spans` WHERE `spans`.`id` = `reviews`.`span_id` AND `spans`.`trace_key` = `reviews`.`trace_key`);--> statement-breakpoint
INSERT INTO `review_days` (`project_key`, `day`, `step_id`, `prompt_version_id`, `user_id`, `error_type`, `accepted`, `corrected`) SELECT `project_key`, `created_at` / 86400000, `step_id`, `prompt_version_id`, `user_id`, coalesce(`error_type`, ''), sum(`state` = 'accepted'), sum(`state` = 'corrected') FROM `reviews` WHERE `step_id` IS NOT NULL GROUP BY 1, 2, 3, 4, 5, 6;--> statement-breakpoint
UPDATE `attributions` SET `step_id` = coalesce((SELECT `step_id` FROM `spans` WHERE `spans`.`id` = `attributions`.`span_id` AND `spans`.`trace_key` = `attributions`.`trace_key`), '') WHERE (`trace_key`, `number`) IN (SELECT `trace_key`, `attribution_number` FROM `attribution_jobs`);--> statement-breakpoint
INSERT INTO `answer_days` (`project_key`, `day`, `step_id`, `error_type`, `answers`) SELECT `project_key`, `created_at` / 86400000, `step_id`, `error_type`, count(*) FROM `attributions` WHERE `step_id` IS NOT NULL GROUP BY 1, 2, 3, 4;
