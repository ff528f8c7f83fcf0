import { isJsonObject, type Json } from '../../../domain/json.ts'
import { spend } from '../../effort.ts'
import type { Finding } from '../../finding.ts'
import { type Fact, isDigit, type Terms, termsOf, termsOfValue } from '../../text/terms.ts'
import { RELATIVE } from '../../text/vocabulary.ts'
import { similarity } from '../difference.ts'
import type { Scene } from '../scene.ts'
import { fieldOf, findFact, leavesOf, partsOf, quote, type Source } from '../sources.ts'

/** A longer request usually describes what it wants in more than one way. */
const SHORT_REQUEST = 240

/** Checks the user's input for ambiguities and contradictions. */
export function* checkRequest(scene: Scene): Generator<Finding> {
  const { dispute, root, origin, visible } = scene
  if (!dispute) return
  const request = root.input ?? origin.input
  const texts = [...leavesOf(request, 'input')].filter(
    (leaf): leaf is [string, string] => typeof leaf[1] === 'string' && leaf[1].includes(' '),
  )
  const length = texts.reduce((sum, [, text]) => sum + text.length, 0)
  if (length > 0 && length < SHORT_REQUEST)
    yield {
      kind: 'request_short',
      spanId: root.spanId,
      path: 'input',
      note: `is short: ${quote(texts[0]?.[1])}`,
      strength: 1,
    }
  const relative = texts.flatMap(([, text]) => {
    spend(text.length)
    return RELATIVE.exec(text)?.[0] ?? []
  })
  if (relative[0] && length < 2 * SHORT_REQUEST)
    yield {
      kind: 'request_relative',
      spanId: root.spanId,
      path: 'input',
      note: `says "${relative[0]}", which can be read in more than one way`,
      strength: 1,
    }
  if (length === 0 && isJsonObject(request))
    yield {
      kind: 'request_is_record',
      spanId: root.spanId,
      path: 'input',
      note: 'is a record without free text',
      strength: 1,
    }
  const { lost, gained } = dispute.difference ?? {}
  if (!lost || !gained) return
  const requested = termsOfValue(request)
  const closeness = (value: Json | undefined) => similarity(requested, termsOfValue(value ?? null))
  const advantage = closeness(dispute.approved) - closeness(dispute.step.output)
  if (advantage > 0.08)
    yield {
      kind: 'correction_closer_to_request',
      spanId: root.spanId,
      path: 'input',
      note: 'has more in common with the approved output than with the original one',
      strength: Math.min(1, advantage * 4),
    }
  const [hasLost, hasGained] = [itemMatcher(lost), itemMatcher(gained)]
  const isRequested = factMatcher(requested.facts)
  for (const source of visible) {
    for (const [path, items] of listsIn(source)) {
      const terms = items.map(termsOfValue)
      const [taken, right] = [terms.findIndex(hasLost), terms.findIndex(hasGained)]
      if (taken < 0 || right < 0 || taken === right) continue
      const score = (index: number) =>
        [...(terms[index]?.words.keys() ?? [])].filter(stem => requested.words.has(stem)).length +
        (terms[index]?.facts ?? []).filter(isRequested).length
      // A request that contains the list matches every item.
      const isRequestItself = source.value === request
      const [fitOfTaken, fitOfRight] = isRequestItself ? [0, 0] : [score(taken), score(right)]
      const kind =
        fitOfRight > fitOfTaken
          ? 'request_fits_approved'
          : fitOfRight < fitOfTaken
            ? 'request_fits_output'
            : 'request_fits_both'
      yield {
        kind,
        spanId: source.step?.spanId ?? null,
        path,
        note: `contains both ${quote(items[taken])}, which was used, and ${quote(items[right])}, which was meant`,
        strength: 1,
      }
      return
    }
  }
  const conflict = conflictOf(scene, lost, gained)
  if (conflict) yield conflict
}

/** Lists of records or lines that the output may choose from. */
function* listsIn({ value, path }: Source): Generator<[path: string, items: Json[]]> {
  for (const [place, part] of partsOf(value, path)) {
    const lines = typeof part === 'string' ? part.split('\n') : []
    spend(lines.length)
    if (Array.isArray(part) && part.length > 1) yield [place, part]
    if (lines.length > 2) yield [place, lines]
  }
}

/** Returns a predicate for items that contain one of a value's facts or, if it has none, all of its words. */
function itemMatcher(wanted: Terms): (item: Terms) => boolean {
  const facts = wanted.facts.filter(fact => !isDigit(fact))
  const isWanted = factMatcher(facts)
  const stems = wanted.words.size <= 6 ? [...wanted.words.keys()] : []
  return item => {
    spend(1 + item.facts.length)
    if (facts.length > 0) return item.facts.some(isWanted)
    return stems.length > 0 && stems.every(stem => item.words.has(stem))
  }
}

/** Returns a predicate for facts that share a reading with one of these. */
function factMatcher(facts: readonly Fact[]): (fact: Fact) => boolean {
  spend(2 * facts.length)
  const known = new Set(facts.flatMap(({ readings }) => readings))
  return ({ readings }) => readings.some(reading => known.has(reading))
}

/**
 * Finds two places that contradict each other: their labels share a word, but one has the output's value and the other
 * the approved value.
 */
function conflictOf({ visible }: Scene, lost: Terms, gained: Terms): Finding | undefined {
  const given = visible.filter(({ kind }) => kind !== 'metadata')
  const taken = given.flatMap(source => mentionsOf(lost, source))
  const right = given.flatMap(source => mentionsOf(gained, source))
  for (const wrong of taken) {
    spend(5 * right.length)
    const other = right.find(
      mention => mention.place !== wrong.place && [...mention.label].some(stem => wrong.label.has(stem)),
    )
    if (other)
      return {
        kind: 'sources_disagree',
        spanId: wrong.source.step?.spanId ?? null,
        path: wrong.path,
        note: `says ${quote(wrong.text)}, but ${other.path} says ${quote(other.text)}`,
        strength: 1,
      }
  }
  return undefined
}

/** A place with a fact, and the words that label it. */
interface Mention {
  source: Source
  path: string
  text: string
  /** Unique to this place. */
  place: string
  label: ReadonlySet<string>
}

function mentionsOf(terms: Terms, source: Source): Mention[] {
  const facts = terms.facts.filter(fact => !isDigit(fact))
  if (!facts.some(fact => findFact(fact, [source]))) return []
  const isNamed = factMatcher(facts)
  return [...leavesOf(source.value, source.path)].flatMap(([path, leaf]) => {
    const lines = typeof leaf === 'string' ? leaf.split('\n') : [String(leaf ?? '')]
    return lines.flatMap((line, index) => {
      const own = termsOf(line)
      spend(5 + own.facts.length + own.words.size)
      const has = own.facts.some(isNamed)
      const label = new Set([...own.words.keys(), ...termsOf(fieldOf(path).replaceAll('_', ' ')).words.keys()])
      return has ? [{ source, path, text: line.trim(), place: `${source.step?.spanId} ${path} ${index}`, label }] : []
    })
  })
}
