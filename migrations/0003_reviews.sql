CREATE TABLE `audit_log` (
	`organization_key` integer NOT NULL,
	`created_at` integer NOT NULL,
	`id` text NOT NULL,
	`project_key` integer,
	`key_id` text,
	`user_id` text,
	`action` text NOT NULL,
	`target_id` text NOT NULL,
	`before_id` text,
	`after_id` text,
	`request_id` text NOT NULL,
	PRIMARY KEY(`organization_key`, `created_at`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `error_types` (
	`error_type` text PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`name` text NOT NULL,
	`category` text NOT NULL,
	`rule` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `reviews` (
	`trace_key` integer NOT NULL,
	`span_id` text NOT NULL,
	`number` integer NOT NULL,
	`id` text NOT NULL,
	`project_key` integer NOT NULL,
	`decision` text NOT NULL,
	`state` text,
	`user_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`output_revision` text NOT NULL,
	`output_hash` text NOT NULL,
	`approved` text,
	`approved_ref` text,
	`comment` text,
	`error_type` text,
	PRIMARY KEY(`trace_key`, `span_id`, `number`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `reviews_by_time` ON `reviews` (`project_key`,`created_at`);--> statement-breakpoint
ALTER TABLE `feedback` ADD `source` text DEFAULT 'api' NOT NULL;--> statement-breakpoint
ALTER TABLE `projects` ADD `retention_days` integer;--> statement-breakpoint
ALTER TABLE `projects` ADD `retain_reviewed` integer DEFAULT true NOT NULL;--> statement-breakpoint
CREATE INDEX `projects_with_retention` ON `projects` (`key`) WHERE "projects"."retention_days" is not null;--> statement-breakpoint
ALTER TABLE `spans` ADD `has_null_output` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `spans` ADD `review_number` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `spans` ADD `review_state` text;--> statement-breakpoint
ALTER TABLE `spans` ADD `claimed_by` text;--> statement-breakpoint
ALTER TABLE `spans` ADD `claimed_until` integer;--> statement-breakpoint
CREATE INDEX `spans_reviewed` ON `spans` (`trace_key`,`review_state`) WHERE "spans"."review_state" is not null;--> statement-breakpoint
ALTER TABLE `traces` ADD `needs_review` integer DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE `traces` ADD `is_negative` integer DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX `traces_to_review` ON `traces` (`project_key`,`timestamp`,`id`) WHERE "traces"."deleted_at" is null and "traces"."needs_review" = 1;--> statement-breakpoint
CREATE INDEX `traces_negative` ON `traces` (`project_key`,`timestamp`,`id`) WHERE "traces"."deleted_at" is null and "traces"."is_negative" = 1;--> statement-breakpoint
UPDATE `traces` SET `is_negative` = 1 WHERE `key` IN (SELECT `trace_key` FROM `feedback` WHERE `rating` = '"negative"' OR (`rating` GLOB '[0-9]*' AND CAST(`rating` AS real) < 0.5));--> statement-breakpoint
INSERT INTO `error_types` (`error_type`, `id`, `name`, `category`, `rule`) VALUES
	('ambiguous_request', '4bac455a-1230-5af5-a1fd-d855390ef62f', 'Ambiguous request', 'User Error', 'The input supports two or more readings; AI and reviewer chose different ones, each defensible.'),
	('missing_input_information', 'd472313d-0872-5eeb-b246-e6d91f0eae52', 'Missing input information', 'User Error', 'A fact needed for the approved output is nowhere in the input, state or active knowledge docs.'),
	('incorrect_input_data', 'c084e80d-8805-5b81-b8dd-899e0677dadc', 'Incorrect input data', 'User Error', 'The input states something false, corrupted or self-contradictory, and the output follows from it.'),
	('unsupported_request', '7dd994c9-62c3-5520-a302-12edc791ab7c', 'Unsupported request', 'User Error', 'The request is outside the pipeline''s scope or policy; no correct in-scope output exists.'),
	('reviewer_mistake', '6adf7fac-8b1f-5409-a187-fce35b9dc35a', 'Reviewer mistake', 'Human Error', 'The correction contradicts the input, the prompt, the knowledge docs, or the reviewer''s own decision on an equal case; the output was right.'),
	('acceptable_variation', '041f6b93-d04f-51ae-8bab-0b2e73a4a310', 'Acceptable variation', 'Human Error', 'Both outputs satisfy prompt and schema; the change is style, wording or taste.'),
	('ambiguous_guideline', 'd74f6ef9-b9ec-5618-bcb7-9416556a7420', 'Ambiguous guideline', 'Human Error', 'The prompt or guideline is silent, vague or contradictory on this case; qualified reviewers differ.'),
	('outdated_reference', '964f9fb8-7ac7-51f9-9f22-10aa655ab742', 'Outdated reference', 'Human Error', 'The AI followed a knowledge doc, prompt example or ground truth that a human had let become stale or wrong.'),
	('instruction_noncompliance', '20edbbb7-feae-5bf0-9fcb-d9053c83add5', 'Instruction not followed', 'AI Error', 'A clear instruction in the prompt or state was present and broken.'),
	('task_misunderstanding', '765d262c-0757-58c5-8262-57d6f36631ec', 'Task misunderstood', 'AI Error', 'The output answers another task, or drifts from the goal, although the request was clear.'),
	('hallucinated_content', '6dccd9ed-11cf-54ec-8538-fb9527a03852', 'Hallucinated content', 'AI Error', 'The output holds a fact, field or citation with no support in input, state or knowledge docs.'),
	('retrieval_failure', 'e0a57832-b2b9-5b84-b219-e5572ccfb67c', 'Retrieval failure', 'AI Error', 'Needed evidence exists in the knowledge base but was not fetched, or irrelevant chunks were.'),
	('context_misinterpretation', 'c3ae9de2-44e5-5029-9537-6fcd96db2bd3', 'Context misinterpreted', 'AI Error', 'The right evidence was in context but ignored, misread, or lost between steps.'),
	('reasoning_error', '04980ad2-af3f-585d-b08d-a9819edffa04', 'Reasoning error', 'AI Error', 'Evidence and instructions were read properly; inference, calculation or classification was wrong.'),
	('tool_invocation_error', '9ec4322f-c3a7-5d69-ab2c-3c0cad6d998c', 'Tool invocation error', 'AI Error', 'Wrong tool, wrong or malformed arguments, or the same call repeated without effect.'),
	('output_format_violation', '7bf0f8d3-89ac-5a5b-a41c-02a672484455', 'Output format violation', 'AI Error', 'The output breaks its schema, or only its shape (not its meaning) was corrected.'),
	('incomplete_output', '168a57a5-5609-5d21-91ac-ca5d2eb31cec', 'Incomplete output', 'AI Error', 'Everything present is right, but required items are missing or cut off.'),
	('system_failure', '810653db-78df-5e07-bc04-ffbc60970dc1', 'System failure', 'AI Error', 'A time-out, provider error, rate limit or crash produced the wrong or empty output.');
