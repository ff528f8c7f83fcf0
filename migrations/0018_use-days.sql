CREATE TABLE `use_days` (
	`project_key` integer NOT NULL,
	`day` integer NOT NULL,
	`step_id` text NOT NULL,
	`prompt_version_id` text NOT NULL,
	`input_tokens` integer,
	`output_tokens` integer,
	`cost_nano_usd` integer,
	`durations` text NOT NULL,
	PRIMARY KEY(`project_key`, `day`, `step_id`, `prompt_version_id`)
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `counted_days` ADD `is_use_kept` integer DEFAULT false NOT NULL;
--> statement-breakpoint
-- Counts every day again, to add tokens, cost, and durations: newest first, ten a minute, so that cron can keep up.
UPDATE `counted_days` SET `progress` = NULL, `due_at` = min(coalesce(`counted_days`.`due_at`, `pass`.`due_at`), `pass`.`due_at`)
FROM (
	SELECT `project_key`, `day`, unixepoch() * 1000 + row_number() OVER (ORDER BY `day` DESC) * 6000 AS `due_at`
	FROM `counted_days`
) AS `pass`
WHERE `counted_days`.`project_key` = `pass`.`project_key` AND `counted_days`.`day` = `pass`.`day`;