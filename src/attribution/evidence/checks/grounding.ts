import type { Step } from '../../../domain/subject.ts'
import type { Finding } from '../../finding.ts'
import { NO_TERMS, type Terms, termsOf, termsOfValue } from '../../text/terms.ts'
import type { FindingKind } from '../../weights.ts'
import { type Difference, without } from '../difference.ts'
import type { Dispute } from '../dispute.ts'
import type { Scene } from '../scene.ts'
import {
  findFact,
  findWord,
  leavesOf,
  locationOf,
  quote,
  type Source,
  type Support,
  slugOf,
  sourceOf,
  supportOf,
} from '../sources.ts'
import { choicesOf } from './shape.ts'

/** The minimum weight worth searching for: a number weighs 2, a word 0.5. */
const MIN_WEIGHT = 0.5

/** How much of the lost or gained terms is in each kind of source. */
interface SupportByKind {
  visible: Support
  prompt: Support
  /** In knowledge docs that no step fetched. */
  unfetched: Support
  /** The share that no source contains, 0 to 1. */
  nowhere: number
  weight: number
}

/** Checks where the removed and added values came from. */
export function* checkGrounding(scene: Scene): Generator<Finding> {
  const { dispute } = scene
  if (!dispute) return
  const exchange = exchangeOf(scene, dispute)
  if (exchange.isLost) yield* checkRemoved(exchange)
  if (exchange.isGained) yield* checkAdded(exchange)
  if (exchange.isLost && exchange.isGained) yield* checkOtherValue(exchange)
  yield* checkUnknownFacts(exchange, scene)
  if (exchange.isLost && exchange.isGained) yield* checkReplacement(exchange)
  yield* checkBothComputed(exchange)
}

/** The removed and added terms, and their sources. */
interface Exchange {
  dispute: Dispute
  lost: Terms
  gained: Terms
  before: SupportByKind
  after: SupportByKind
  /** Whether there are enough terms to search for. */
  isLost: boolean
  isGained: boolean
  /** Where the output has the removed terms. */
  at: { spanId: string; path: string }
}

function exchangeOf(scene: Scene, dispute: Dispute): Exchange {
  const { lost, gained } = dispute.difference
    ? valuesOf(dispute.difference, dispute.step)
    : { lost: NO_TERMS, gained: valuesInComments(dispute) }
  const before = supportByKind(lost, gained, scene)
  const after = supportByKind(gained, lost, scene)
  return {
    dispute,
    lost,
    gained,
    before,
    after,
    isLost: before.weight >= MIN_WEIGHT || lost.words.size > gained.words.size / 3,
    isGained: after.weight >= MIN_WEIGHT || gained.words.size > lost.words.size / 3,
    at: { spanId: scene.origin.spanId, path: pathOf(lost, scene.origin) },
  }
}

/** The found term in quotation marks. */
const quoted = ({ at }: Support): string => (at ? `"${at.text}"` : 'it')

/** A support in words: `took "12" from the output of "quote"`. */
const took = (support: Support): string => {
  const { source } = support.at ?? {}
  return `took ${quoted(support)} from ${source ? placeOf(source) : 'nowhere'}`
}

/** A source in words: `the output of "retrieve"`, `state.rates in "quote"`, `the input`, `the knowledge doc "returns"`. */
function placeOf(source: Source): string {
  const { kind, path, step } = source
  if (kind === 'doc') return `the knowledge doc "${slugOf(source)}"`
  const isWhole = path === 'input' || path === 'output'
  const value = isWhole ? `the ${path}` : path
  return step && !step.isRoot ? `${value} ${isWhole ? 'of' : 'in'} "${step.stepId}"` : value
}

const isInDoc = ({ at }: Support): boolean => at?.source.kind === 'retrieved' || at?.source.kind === 'doc'

const locationIn = ({ at }: Support) => (at ? locationOf(at.source) : { spanId: null, path: 'output' })

/** Reports where the removed terms came from: nowhere, content visible to the step, or the prompt. */
function* checkRemoved({ before, isGained, at }: Exchange): Generator<Finding> {
  const { visible, prompt, nowhere, weight } = before
  if (nowhere > 0.3) {
    yield {
      kind: isGained ? 'unsupported_value_replaced' : 'unsupported_value_removed',
      ...at,
      note: `contains "${visible.missing}", which isn't in any input, state, or knowledge doc`,
      // One or two unsupported words are hardly a claim.
      strength: nowhere * Math.min(1, weight / 1.5),
    }
  }
  if (visible.found > 0.5 && !isGained) {
    const note = `${took(visible)}, but should not have shown it`
    yield { kind: 'supported_value_removed', ...at, note, strength: visible.found }
  }
  if (visible.found > 0.5 && isGained) {
    const kind = isInDoc(visible) ? 'removed_value_in_docs' : 'removed_value_in_context'
    yield { kind, ...at, note: took(visible), strength: visible.found }
  }
  if (visible.found <= 0.5 && prompt.found > 0.5) {
    const note = `took ${quoted(prompt)} from the prompt`
    yield { kind: 'removed_value_in_prompt', ...at, note, strength: prompt.found }
  }
}

/**
 * Reports where the added terms could have come from: content visible to the step, nowhere, the prompt, or docs that
 * weren't fetched.
 */
function* checkAdded(exchange: Exchange): Generator<Finding> {
  const { dispute, after } = exchange
  const { visible, prompt, unfetched } = after
  const { spanId } = dispute.step
  if (visible.found > 0.5) {
    yield {
      kind: kindOfFound(exchange),
      ...locationIn(visible),
      note: `contains ${quoted(visible)}, which the ${dispute.difference ? 'approved output' : 'comment'} also contains`,
      strength: visible.found,
    }
  }
  if (after.nowhere > 0.3) {
    const verb = dispute.difference ? 'was corrected to' : 'mentions'
    yield {
      kind: kindOfNotFound(exchange),
      spanId,
      path: dispute.difference ? 'output' : 'feedback',
      note: `${verb} "${visible.missing}", which isn't in any input, state, or knowledge doc`,
      strength: after.nowhere,
    }
  }
  if (visible.found <= 0.6 && prompt.found > 0.5 && prompt.found > visible.found) {
    const note = `says ${quoted(prompt)}, which the approved output also contains`
    yield { kind: 'added_value_in_prompt', spanId, path: 'prompt', note, strength: prompt.found }
  }
  const advantage = unfetched.found - visible.found
  if (advantage > 0.15 && unfetched.found > 0.4 && after.weight >= 2) {
    yield {
      kind: 'added_value_not_fetched',
      ...locationIn(unfetched),
      note: `contains ${quoted(unfetched)}, which the approved output also contains, but wasn't fetched`,
      strength: Math.min(1, 0.4 + advantage),
    }
  }
}

function kindOfFound({ dispute, after }: Exchange): FindingKind {
  if (!dispute.difference) return 'comment_value_in_context'
  return isInDoc(after.visible) ? 'added_value_in_docs' : 'added_value_in_context'
}

function kindOfNotFound({ dispute, isLost }: Exchange): FindingKind {
  if (!dispute.difference) return 'comment_value_not_found'
  return isLost ? 'added_value_not_found' : 'pure_addition_not_found'
}

/** Reports that both values were available and the step took the wrong one. */
function* checkOtherValue({ before, after, at }: Exchange): Generator<Finding> {
  const [taken, right] = [before.visible, after.visible]
  if (taken.found <= 0.5 || right.found <= 0.5) return
  const note = `took ${quoted(taken)}, although ${quoted(right)} was also available`
  yield { kind: 'other_value_taken', ...at, note, strength: Math.min(taken.found, right.found) }
}

/** Reports added facts that no source of the run contains. */
function* checkUnknownFacts({ dispute, lost, gained, after }: Exchange, scene: Scene): Generator<Finding> {
  const places = [...scene.visible, ...scene.prompts, ...scene.unfetched]
  const added = gained.facts.filter(fact => !findFact(fact, places)).length
  if (!dispute.difference || added < 2 || added <= lost.facts.length) return
  yield {
    kind: 'unknown_facts_added',
    spanId: dispute.step.spanId,
    path: 'output',
    note: `was corrected with ${added} facts that no source contains, such as "${after.visible.missing}"`,
    strength: Math.min(1, (added - lost.facts.length) / 3),
  }
}

/** Reports a correction that replaces an available value with one that no source contains. */
function* checkReplacement({ dispute, before, after, at }: Exchange): Generator<Finding> {
  if (before.visible.found <= 0.5 || after.nowhere <= 0.5) return
  const isSimilar = (dispute.difference?.similarity ?? 0) > 0.3
  yield {
    kind: isSimilar ? 'value_replaced_by_unknown' : 'content_replaced_by_unknown',
    ...at,
    note: `${took(before.visible)}; "${after.visible.missing}" doesn't appear in any source`,
    strength: Math.min(before.visible.found, after.nowhere),
  }
}

/** Reports that no source contains either value, so both must have been computed. */
function* checkBothComputed({ lost, gained, before, after, at }: Exchange): Generator<Finding> {
  const [fact] = lost.facts
  if (!fact || gained.facts.length === 0 || before.nowhere <= 0.5 || after.nowhere <= 0.5) return
  yield {
    kind: 'both_computed',
    ...at,
    note: `was corrected from ${quote(fact.text)} to "${after.visible.missing}", and neither value is in the step's sources`,
    strength: Math.min(before.nowhere, after.nowhere),
  }
}

/**
 * The removed and added terms, except for labels that the step chooses from a fixed list, which don't come from a
 * source.
 */
function valuesOf({ changes, lost, gained }: Difference, step: Step): { lost: Terms; gained: Terms } {
  const chosen = changes.filter(({ path }) => choicesOf(step, path) !== undefined)
  if (chosen.length === 0) return { lost, gained }
  const side = (name: 'before' | 'after') => termsOfValue(chosen.flatMap(change => change[name] ?? []))
  return { lost: without(lost, side('before')), gained: without(gained, side('after')) }
}

/** The facts and names in the comments that the output lacks. They take the place of a correction. */
function valuesInComments({ comments, step }: Dispute): Terms {
  const { facts, words } = without(termsOf(comments.join('\n')), termsOfValue(step.output))
  return { facts, words: new Map([...words].filter(([, { isName }]) => isName)) }
}

/**
 * Measures the support for terms in each kind of source. In a longer rewording, common words are ignored, because any
 * paraphrase contains them.
 */
function supportByKind(
  terms: Terms,
  counterpart: Terms,
  { visible, prompts, unfetched, dispute }: Scene,
): SupportByKind {
  // If a text and its sources are in different languages, its words have little weight.
  const kept = supportOf(
    { facts: [], words: termsOfValue(dispute?.approved ?? dispute?.step.output ?? null).words },
    visible,
  )
  const isReworded = counterpart.words.size > terms.words.size / 3 && terms.words.size > 3
  const wordWeight = isReworded ? 0 : kept.found > 0.3 ? 0.5 : 0.1
  const supports = [visible, prompts, unfetched].map(sources => supportOf(terms, sources, wordWeight))
  const [inVisible = NO_SUPPORT, inPrompt = NO_SUPPORT, inUnfetched = NO_SUPPORT] = supports
  const anywhere = supportOf(terms, [...visible, ...prompts, ...unfetched], wordWeight)
  return {
    visible: inVisible,
    prompt: inPrompt,
    unfetched: inUnfetched,
    nowhere: anywhere.weight === 0 ? 0 : 1 - anywhere.found,
    weight: anywhere.weight,
  }
}

const NO_SUPPORT: Support = { found: 0, weight: 0, at: undefined, missing: undefined }

/** The path of the first value in an output that contains any of the terms. */
function pathOf({ facts, words }: Terms, step: Step): string {
  for (const [path, leaf] of leavesOf(step.output, 'output')) {
    const source = [sourceOf('output', step, path, leaf)]
    if (facts.some(fact => findFact(fact, source)) || [...words.keys()].some(stem => findWord(stem, source)))
      return path
  }
  return 'output'
}
