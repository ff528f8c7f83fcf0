ALTER TABLE `spans` ADD `is_stale` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `traces` ADD `is_uncounted` integer DEFAULT false NOT NULL;--> statement-breakpoint
-- Comments given with decisions become feedback, under the ids of their decisions.
INSERT OR IGNORE INTO `feedback` (`id`, `trace_key`, `span_id`, `user_id`, `comment`, `timestamp`, `received_at`, `created_by`, `source`)
SELECT `id`, `trace_key`, `span_id`, `user_id`, `comment`, `created_at`, `created_at`, `id`, 'review' FROM `reviews`
WHERE `comment` IS NOT NULL AND `trace_key` IN (SELECT `key` FROM `traces` WHERE `deleted_at` IS NULL);
--> statement-breakpoint
-- Reviews of outputs that have changed, told by their names: one that was sent again equal is looked at once more.
UPDATE `spans` SET `is_stale` = 1 WHERE `review_state` IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM `reviews` WHERE `reviews`.`trace_key` = `spans`.`trace_key` AND `reviews`.`span_id` = `spans`.`id`
    AND `reviews`.`number` = `spans`.`review_number`
    AND `reviews`.`output_revision` = coalesce((
      SELECT `observed`.`id` FROM `observations` `observed`
      WHERE `observed`.`trace_key` = `spans`.`trace_key` AND `observed`.`type` = 'output' AND coalesce(
        `observed`.`span_id`, (SELECT `own`.`root_span_id` FROM `traces` `own` WHERE `own`.`key` = `spans`.`trace_key`)
      ) = `spans`.`id`
      ORDER BY `observed`.`timestamp` DESC, `observed`.`received_at` DESC, `observed`.`id` DESC LIMIT 1
    ), `spans`.`output_revision`, 'none'));
--> statement-breakpoint
UPDATE `traces` SET `needs_review` = 1 WHERE `deleted_at` IS NULL AND `needs_review` = 0 AND `is_generic` = 0
  AND `key` IN (SELECT `trace_key` FROM `spans` WHERE `review_state` IS NOT NULL AND `is_stale` = 1);
--> statement-breakpoint
UPDATE `counted_days` SET `is_changed` = 1, `due_at` = `rests_until` WHERE `is_changed` = 0 AND (`project_key`, `day`) IN (
  SELECT `project_key`, CAST(floor(`timestamp` / 86400000.0) AS integer) FROM `traces`
  WHERE `key` IN (SELECT `trace_key` FROM `spans` WHERE `review_state` IS NOT NULL AND `is_stale` = 1));
