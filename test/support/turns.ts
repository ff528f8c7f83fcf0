import { vi } from 'vitest'

/**
 * The largest amount of each kind of work between two yields: the number of hashes, and the number of characters that
 * are parsed as JSON.
 */
export interface LongestPiece {
  hashes: number
  parsed: number
}

/** Runs a call, and returns its longest pieces of work. Hashing and parsing by the test itself also count. */
export async function longestPieceOf(call: () => Promise<unknown>): Promise<LongestPiece> {
  const longest: LongestPiece = { hashes: 0, parsed: 0 }
  let piece: LongestPiece = { hashes: 0, parsed: 0 }
  const [setTimer, digest, parse] = [globalThis.setTimeout, crypto.subtle.digest, JSON.parse]
  const spies = [
    vi.spyOn(globalThis, 'setTimeout').mockImplementation((task: () => void, ms?: number) => {
      if (ms === 0) piece = { hashes: 0, parsed: 0 }
      return setTimer.call(globalThis, task, ms)
    }),
    vi.spyOn(crypto.subtle, 'digest').mockImplementation((...args) => {
      longest.hashes = Math.max(longest.hashes, ++piece.hashes)
      return digest.apply(crypto.subtle, args)
    }),
    vi.spyOn(JSON, 'parse').mockImplementation((text, reviver) => {
      piece.parsed += text.length
      longest.parsed = Math.max(longest.parsed, piece.parsed)
      return parse(text, reviver)
    }),
  ]
  try {
    await call()
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
  return longest
}
