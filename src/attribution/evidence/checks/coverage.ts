import type { Json } from '../../../domain/json.ts'
import { spend } from '../../effort.ts'
import type { Finding } from '../../finding.ts'
import { type Terms, termsOfValue } from '../../text/terms.ts'
import { BETWEEN_ITEMS } from '../../text/vocabulary.ts'
import type { Scene } from '../scene.ts'
import { leavesOf, partsOf, quote, type Source, sourceOf, supportOf } from '../sources.ts'

/** Text with more lines is data that a list may only be an excerpt of. */
const MAX_LINES = 200

/** A shorter list doesn't show which items belong in it. */
const MIN_ITEMS = 2

/** Checks whether a list in the output is missing items that are next to its items in their source. */
export function* checkCoverage({ dispute, origin, visible }: Scene): Generator<Finding> {
  if (!dispute) return
  for (const [path, items] of partsOf(origin.output, 'output')) {
    if (!Array.isArray(items) || items.length < MIN_ITEMS) continue
    for (const source of visible.filter(({ kind }) => kind !== 'metadata')) {
      for (const [place, leaf] of leavesOf(source.value, source.path)) {
        if (typeof leaf !== 'string') continue
        const left = leftOut(items, leaf)
        if (left === undefined) continue
        const note = `lacks ${quote(left)}, which is next to its items in ${place}`
        yield { kind: 'items_left_out', spanId: origin.spanId, path, note, strength: 1 }
        return
      }
    }
  }
}

/**
 * A line or comma-separated part that resembles the ones the items came from but is missing from the list.
 */
function leftOut(items: readonly Json[], text: string): string | undefined {
  spend(3 * text.length)
  const wanted = items.map(termsOfValue)
  const lists = [text.split('\n'), ...text.split(/[.\n:;]\s/u).map(sentence => sentence.split(BETWEEN_ITEMS))]
  for (const parts of lists) {
    const lines = parts.map(part => part.trim()).filter(part => part !== '')
    if (lines.length <= items.length || lines.length > MAX_LINES) continue
    const sources = lines.map(line => sourceOf('input', null, '', line))
    const taken = wanted.map(terms => sources.findIndex(source => isReadFrom(terms, source)))
    const found = taken.filter(index => index >= 0)
    // Each item must have its own line, and the lines must be adjacent.
    if (found.length < items.length || new Set(found).size < found.length) continue
    const [first, last] = [Math.min(...found), Math.max(...found)]
    if (last - first + 1 !== found.length) continue
    const shapes = new Set(found.map(index => shapeOf(lines[index] ?? '')))
    const next = lines[last + 1]
    if (next !== undefined && shapes.has(shapeOf(next))) return next
  }
  return undefined
}

function isReadFrom(item: Terms, line: Source): boolean {
  const { found, weight } = supportOf(item, [line])
  return weight > 0 && found > 0.7
}

/** What a list's lines have in common: how they start, and roughly how long they are. */
const shapeOf = (line: string): string =>
  `${line
    .slice(0, 1)
    .replace(/\d/u, '0')
    .replace(/\p{Lu}/u, 'A')
    .replace(/\p{Ll}/u, 'a')}${line.split(/\s+/u).length > 6 ? 'long' : ''}`
