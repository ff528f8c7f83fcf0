DROP INDEX `traces_by_time`;--> statement-breakpoint
CREATE INDEX `traces_by_name` ON `traces` (`project_key`,`name`,`timestamp`,`id`) WHERE "traces"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX `traces_running` ON `traces` (`project_key`,`status`,`timestamp`,`id`) WHERE "traces"."deleted_at" is null and "traces"."status" = 'running';--> statement-breakpoint
CREATE INDEX `traces_by_time` ON `traces` (`project_key`,`timestamp`,`id`) WHERE "traces"."deleted_at" is null;