import type { JsonObject } from './json.ts'

/** How an item got into its dataset. */
export const ITEM_DECISIONS = ['accept', 'correct', 'import'] as const
export type ItemDecision = (typeof ITEM_DECISIONS)[number]

/** What a log entry of a dataset changed. */
export const DATASET_CHANGES = [
  'decision',
  'reset',
  'import',
  'exclusion',
  'split',
  'note',
  'alternative',
  'staleness',
] as const
export type DatasetChange = (typeof DATASET_CHANGES)[number]

/** The form of a split's name. */
export const SPLIT = /^[a-z0-9-]{1,32}$/

/** The group of a trace with this metadata: its `group_id`. Undefined if it has none. */
export function groupOf({ group_id: group }: JsonObject): string | undefined {
  return group === undefined || group === null || group === '' ? undefined : JSON.stringify(group)
}
