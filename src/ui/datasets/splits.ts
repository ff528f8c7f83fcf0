import type { DatasetItem } from '../api/wire.ts'

/** The splits that items get by default, and others that these items are in. */
export const knownSplits = (items: readonly DatasetItem[]): string[] => [
  ...new Set(['train', 'test', ...items.map(({ split }) => split)]),
]
