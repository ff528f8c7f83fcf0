/** What a model is asked to do in the background, apart from attribution. */
export const MODEL_JOB_KINDS = ['run_experiment', 'judge_results', 'suggest_version'] as const
export type ModelJobKind = (typeof MODEL_JOB_KINDS)[number]

export const MODEL_JOB_STATUSES = ['pending', 'done', 'failed', 'cancelled'] as const
export type ModelJobStatus = (typeof MODEL_JOB_STATUSES)[number]
