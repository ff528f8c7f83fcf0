import { isJsonObject, type Json } from '../../../domain/json.ts'
import { spend } from '../../effort.ts'
import type { Finding } from '../../finding.ts'
import { type Fact, isDigit, type Terms, termsOf, termsOfValue } from '../../text/terms.ts'
import { RELATIVE } from '../../text/vocabulary.ts'
import { similarity } from '../difference.ts'
import type { Scene } from '../scene.ts'
import { fieldOf, findFact, leavesOf, partsOf, quote, type Source } from '../sources.ts'

/** A longer request describes what it wants in more than one way. */
const SHORT_REQUEST = 240

/** Checks what the user's input leaves ambiguous or contradicts. */
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
      kind: 'correction_nearer_to_request',
      spanId: root.spanId,
      path: 'input',
      note: 'has more in common with the approved output than with the output',
      strength: Math.min(1, advantage * 4),
    }
  const [holdsLost, holdsGained] = [holderOf(lost), holderOf(gained)]
  const isRequested = isAmong(requested.facts)
  for (const source of visible) {
    for (const [path, items] of listsIn(source)) {
      const terms = items.map(termsOfValue)
      const [taken, right] = [terms.findIndex(holdsLost), terms.findIndex(holdsGained)]
      if (taken < 0 || right < 0 || taken === right) continue
      const score = (index: number) =>
        [...(terms[index]?.words.keys() ?? [])].filter(stem => requested.words.has(stem)).length +
        (terms[index]?.facts ?? []).filter(isRequested).length
      // A request that contains the list itself has the words of each item.
      const isOwn = source.value === request
      const [fitOfTaken, fitOfRight] = isOwn ? [0, 0] : [score(taken), score(right)]
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
        note: `has both ${quote(items[taken])}, which was taken, and ${quote(items[right])}, which was meant`,
        strength: 1,
      }
      return
    }
  }
  const conflict = conflictOf(scene, lost, gained)
  if (conflict) yield conflict
}

/** Lists of records or lines from which something is chosen. */
function* listsIn({ value, path }: Source): Generator<[path: string, items: Json[]]> {
  for (const [place, part] of partsOf(value, path)) {
    const lines = typeof part === 'string' ? part.split('\n') : []
    spend(lines.length)
    if (Array.isArray(part) && part.length > 1) yield [place, part]
    if (lines.length > 2) yield [place, lines]
  }
}

/** Returns a function that says whether an item has the facts or names of a value. */
function holderOf(wanted: Terms): (item: Terms) => boolean {
  const facts = wanted.facts.filter(fact => !isDigit(fact))
  const isWanted = isAmong(facts)
  const stems = wanted.words.size <= 6 ? [...wanted.words.keys()] : []
  return item => {
    spend(1 + item.facts.length)
    if (facts.length > 0) return item.facts.some(isWanted)
    return stems.length > 0 && stems.every(stem => item.words.has(stem))
  }
}

/** Returns a function that says whether a fact may mean the same as one of these. */
function isAmong(facts: readonly Fact[]): (fact: Fact) => boolean {
  spend(2 * facts.length)
  const known = new Set(facts.flatMap(({ readings }) => readings))
  return ({ readings }) => readings.some(reading => known.has(reading))
}

/**
 * Two places that contradict each other: under the same name, one has the output's value and the other the approved
 * one.
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
        note: `says ${quote(wrong.text)}, and ${other.path} says ${quote(other.text)}`,
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
  const isNamed = isAmong(facts)
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
