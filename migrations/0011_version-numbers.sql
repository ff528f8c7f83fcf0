DROP INDEX `text_versions_by_text`;--> statement-breakpoint
ALTER TABLE `text_versions` ADD `number` integer;--> statement-breakpoint
UPDATE `text_versions` SET `number` = `numbered`.`number` FROM (
	SELECT `key`, row_number() OVER (PARTITION BY `text_key` ORDER BY `key`) AS `number` FROM `text_versions`
) AS `numbered` WHERE `numbered`.`key` = `text_versions`.`key`;--> statement-breakpoint
CREATE UNIQUE INDEX `text_versions_by_number` ON `text_versions` (`text_key`,`number`);