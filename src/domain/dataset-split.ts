import { hash } from 'node:crypto'

/** The splits that items get by default. People may choose others. */
export const DEFAULT_SPLITS = ['train', 'test'] as const

/**
 * The split of an item that nobody has assigned to a split: `test` for a fifth of these items, and `train` for the
 * rest. Items of one group always share a split, so that no conversation is in both splits. Items without a group share
 * a split if they have the same input. `inputHash` is the SHA-256 of the input's canonical JSON.
 */
export function defaultSplit(item: { group: string | undefined; inputHash: string }): (typeof DEFAULT_SPLITS)[number] {
  // The prefixes distinguish a group whose name looks like a hash from the input with that hash.
  const name = item.group === undefined ? `input:${item.inputHash}` : `group:${item.group}`
  return fraction(hash('sha256', name, 'hex')) < TEST_SHARE ? 'test' : 'train'
}

const TEST_SHARE = 0.2

/** The first 32 bits of a hash as a number from 0 up to 1. */
const fraction = (hex: string): number => Number.parseInt(hex.slice(0, 8), 16) / 2 ** 32

/** An item's place in the random order that a seed gives: 16 hex digits, which can be compared as strings. */
export const samplingHash = (seed: string, itemId: string): string =>
  hash('sha256', `${seed}:${itemId}`, 'hex').slice(0, 16)

/**
 * The highest hash in a sample of `size` items. The sample consists of the items whose hash isn't above it. Null if
 * there are at most `size` items, because the sample then includes every item, whatever its hash.
 */
export function sampleThreshold(hashes: readonly string[], size: number): string | null {
  if (hashes.length <= size) return null
  return hashes.toSorted()[size - 1] ?? ''
}
