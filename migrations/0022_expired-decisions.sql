ALTER TABLE `review_days` ADD `expired_accepted` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `review_days` ADD `expired_corrected` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
UPDATE `review_days` SET `expired_accepted` = max(0, `review_days`.`accepted` - `held`.`accepted`), `expired_corrected` = max(0, `review_days`.`corrected` - `held`.`corrected`) FROM (
	SELECT `days`.`project_key`, `days`.`day`, `days`.`step_id`, `days`.`prompt_version_id`, `days`.`user_id`, `days`.`error_type`, coalesce(`kept`.`accepted`, 0) AS `accepted`, coalesce(`kept`.`corrected`, 0) AS `corrected`
	FROM `review_days` AS `days` LEFT JOIN (
		SELECT `reviews`.`project_key`, `reviews`.`created_at` / 86400000 AS `day`, `reviews`.`step_id`, `reviews`.`prompt_version_id`, `reviews`.`user_id`, coalesce(`reviews`.`error_type`, '') AS `error_type`, sum(`reviews`.`state` = 'accepted') AS `accepted`, sum(`reviews`.`state` = 'corrected') AS `corrected`
		FROM `reviews` CROSS JOIN `spans`
		WHERE `reviews`.`state` IS NOT NULL AND `reviews`.`step_id` IS NOT NULL AND `spans`.`id` = `reviews`.`span_id` AND `spans`.`trace_key` = `reviews`.`trace_key` AND `spans`.`review_number` = `reviews`.`number`
		GROUP BY 1, 2, 3, 4, 5, 6
	) AS `kept` ON `kept`.`project_key` = `days`.`project_key` AND `kept`.`day` = `days`.`day` AND `kept`.`step_id` = `days`.`step_id` AND `kept`.`prompt_version_id` = `days`.`prompt_version_id` AND `kept`.`user_id` = `days`.`user_id` AND `kept`.`error_type` = `days`.`error_type`
	WHERE `days`.`accepted` > coalesce(`kept`.`accepted`, 0) OR `days`.`corrected` > coalesce(`kept`.`corrected`, 0)
) AS `held` WHERE `held`.`project_key` = `review_days`.`project_key` AND `held`.`day` = `review_days`.`day` AND `held`.`step_id` = `review_days`.`step_id` AND `held`.`prompt_version_id` = `review_days`.`prompt_version_id` AND `held`.`user_id` = `review_days`.`user_id` AND `held`.`error_type` = `review_days`.`error_type`;--> statement-breakpoint
CREATE INDEX `review_days_expired` ON `review_days` (`project_key`,`day`) WHERE "review_days"."expired_accepted" + "review_days"."expired_corrected" > 0;