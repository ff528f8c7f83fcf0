/** A stream of choices that looks random but is the same everywhere, every time. */
export interface Random {
  /** A whole number from `least` to `most`, inclusive. */
  whole: (least: number, most: number) => number
  /** Whether something with a probability of `percent` percent happens. */
  chance: (percent: number) => boolean
  pick: <T>(items: readonly T[]) => T
  /** The items in random order. */
  shuffle: <T>(items: readonly T[]) => T[]
  /** This many lowercase hexadecimal digits. */
  hex: (length: number) => string
  /** This many decimal digits, the first of which isn't 0. */
  digits: (length: number) => string
  uuid: () => string
}

/** The stream for a seed. Each trace has its own stream, so that changing one trace doesn't change the others. */
export function seededRandom(seed: string): Random {
  const next = mulberry32(fnv1a(seed))
  const whole = (least: number, most: number) => least + Math.floor((next() / 2 ** 32) * (most - least + 1))
  const hex = (length: number) => Array.from({ length }, () => whole(0, 15).toString(16)).join('')
  return {
    whole,
    hex,
    chance: percent => whole(1, 100) <= percent,
    pick: items => itemAt(items, whole(0, items.length - 1)),
    shuffle: items => {
      const order = items.map(item => ({ item, rank: next() }))
      return order.sort((left, right) => left.rank - right.rank).map(({ item }) => item)
    },
    digits: length => `${whole(1, 9)}${Array.from({ length: length - 1 }, () => whole(0, 9)).join('')}`,
    // Version 8 leaves the other bits to the implementation (RFC 9562, section 5.8).
    uuid: () => `${hex(8)}-${hex(4)}-8${hex(3)}-${whole(8, 11).toString(16)}${hex(3)}-${hex(12)}`,
  }
}

/** The item at an index, which wraps around the list. */
export function itemAt<T>(items: readonly T[], index: number): T {
  const position = index % items.length
  const item = items[position]
  if (item === undefined) throw new Error(`The list has no item ${index}`)
  return item
}

/** Hashes a string to 32 bits. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193)
  return hash >>> 0
}

/** The mulberry32 generator: 32 bits of state and integer arithmetic only, so every machine gets the same numbers. */
function mulberry32(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
}
