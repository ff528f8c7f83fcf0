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
  sourceOf,
  supportOf,
} from '../sources.ts'
import { choicesOf } from './shape.ts'

/** The minimum weight worth searching for: a number weighs 2, a word 0.5. */
const ENOUGH = 0.5

/** The support for the lost or gained terms in each of their possible sources. */
interface Standing {
  visible: Support
  prompt: Support
  /** In docs that no step fetched. */
  unfetched: Support
  /** 0 to 1: the share found nowhere. */
  nowhere: number
  weight: number
}

/** Checks where removed and added values come from. */
export function* checkGrounding(scene: Scene): Generator<Finding> {
  const { dispute } = scene
  if (!dispute) return
  const exchange = exchangeOf(scene, dispute)
  if (exchange.isLost) yield* groundOfLost(exchange)
  if (exchange.isGained) yield* groundOfGained(exchange)
  if (exchange.isLost && exchange.isGained) yield* otherValueTaken(exchange)
  yield* unknownFacts(exchange, scene)
  if (exchange.isLost && exchange.isGained) yield* replacedByUnknown(exchange)
  yield* bothComputed(exchange)
}

/** The removed and added terms, and their sources. */
interface Exchange {
  dispute: Dispute
  lost: Terms
  gained: Terms
  before: Standing
  after: Standing
  /** Whether there are enough terms to search for. */
  isLost: boolean
  isGained: boolean
  /** Where the output has the removed terms. */
  at: { spanId: string; path: string }
}

function exchangeOf(scene: Scene, dispute: Dispute): Exchange {
  const { lost, gained } = dispute.difference
    ? valuesOf(dispute.difference, dispute.step)
    : { lost: NO_TERMS, gained: saidBy(dispute) }
  const before = standingOf(lost, gained, scene)
  const after = standingOf(gained, lost, scene)
  return {
    dispute,
    lost,
    gained,
    before,
    after,
    isLost: before.weight >= ENOUGH || lost.words.size > gained.words.size / 3,
    isGained: after.weight >= ENOUGH || gained.words.size > lost.words.size / 3,
    at: { spanId: scene.origin.spanId, path: pathOf(lost, scene.origin) },
  }
}

/** The term that was found, in quotation marks. */
const quoted = ({ at }: Support): string => (at ? `"${at.text}"` : 'it')

/** A support in words: `took "12" from state.rates of quote`. */
const took = (support: Support): string => {
  const { source } = support.at ?? {}
  return `took ${quoted(support)} from ${source ? `${source.path}${ownerOf(source)}` : 'nowhere'}`
}

const ownerOf = ({ step }: Source): string => (step && !step.isRoot ? ` of ${step.stepId}` : '')

const isOfDoc = ({ at }: Support): boolean => at?.source.kind === 'retrieved' || at?.source.kind === 'doc'

const locationIn = ({ at }: Support) => (at ? locationOf(at.source) : { spanId: null, path: 'output' })

/** The source of the removed terms: none, what the step had, or the prompt. */
function* groundOfLost({ before, isGained, at }: Exchange): Generator<Finding> {
  const { visible, prompt, nowhere, weight } = before
  if (nowhere > 0.3) {
    yield {
      kind: isGained ? 'unfounded_replaced' : 'unfounded_removed',
      ...at,
      note: `contains "${visible.missing}", which is not in any input, state or knowledge doc`,
      // One or two words without a source are hardly a claim.
      strength: nowhere * Math.min(1, weight / 1.5),
    }
  }
  if (visible.found > 0.5 && !isGained) {
    const note = `${took(visible)}, but should not have shown it`
    yield { kind: 'founded_removed', ...at, note, strength: visible.found }
  }
  if (visible.found > 0.5 && isGained) {
    const kind = isOfDoc(visible) ? 'lost_stands_in_docs' : 'lost_stands_in_context'
    yield { kind, ...at, note: took(visible), strength: visible.found }
  }
  if (visible.found <= 0.5 && prompt.found > 0.5) {
    const note = `took ${quoted(prompt)} from the prompt`
    yield { kind: 'lost_stands_in_prompt', ...at, note, strength: prompt.found }
  }
}

/** The source of the added terms: what the step had, none, the prompt, or docs that nobody fetched. */
function* groundOfGained(exchange: Exchange): Generator<Finding> {
  const { dispute, after } = exchange
  const { visible, prompt, unfetched } = after
  const { spanId } = dispute.step
  if (visible.found > 0.5) {
    yield {
      kind: kindOfKnown(exchange),
      ...locationIn(visible),
      note: `has ${quoted(visible)}, which is in the ${dispute.difference ? 'approved output' : 'comment'}`,
      strength: visible.found,
    }
  }
  if (after.nowhere > 0.3) {
    const verb = dispute.difference ? 'was corrected to' : 'mentions'
    yield {
      kind: kindOfUnknown(exchange),
      spanId,
      path: dispute.difference ? 'output' : 'feedback',
      note: `${verb} "${visible.missing}", which is not in any input, state or knowledge doc`,
      strength: after.nowhere,
    }
  }
  if (visible.found <= 0.6 && prompt.found > 0.5 && prompt.found > visible.found) {
    const note = `says ${quoted(prompt)}, as does the approved output`
    yield { kind: 'gained_stands_in_prompt', spanId, path: 'prompt', note, strength: prompt.found }
  }
  const advantage = unfetched.found - visible.found
  if (advantage > 0.15 && unfetched.found > 0.4 && after.weight >= 2) {
    yield {
      kind: 'gained_stands_unfetched',
      ...locationIn(unfetched),
      note: `has ${quoted(unfetched)}, which is in the approved output, but was not fetched`,
      strength: Math.min(1, 0.4 + advantage),
    }
  }
}

function kindOfKnown({ dispute, after }: Exchange): FindingKind {
  if (!dispute.difference) return 'comment_stands_in_context'
  return isOfDoc(after.visible) ? 'gained_stands_in_docs' : 'gained_stands_in_context'
}

function kindOfUnknown({ dispute, isLost }: Exchange): FindingKind {
  if (!dispute.difference) return 'comment_stands_nowhere'
  return isLost ? 'gained_stands_nowhere' : 'addition_stands_nowhere'
}

/** Both values were available, and the step took the wrong one. */
function* otherValueTaken({ before, after, at }: Exchange): Generator<Finding> {
  const [taken, right] = [before.visible, after.visible]
  if (taken.found <= 0.5 || right.found <= 0.5) return
  const note = `took ${quoted(taken)}, although ${quoted(right)} was also available`
  yield { kind: 'other_value_taken', ...at, note, strength: Math.min(taken.found, right.found) }
}

/** Facts that people know but that the run couldn't find anywhere. */
function* unknownFacts({ dispute, lost, gained, after }: Exchange, scene: Scene): Generator<Finding> {
  const places = [...scene.visible, ...scene.prompts, ...scene.unfetched]
  const added = gained.facts.filter(fact => !findFact(fact, places)).length
  if (!dispute.difference || added < 2 || added <= lost.facts.length) return
  yield {
    kind: 'unknown_facts_added',
    spanId: dispute.step.spanId,
    path: 'output',
    note: `was corrected with ${added} facts that appear nowhere, such as "${after.visible.missing}"`,
    strength: Math.min(1, (added - lost.facts.length) / 3),
  }
}

/** The output used available values, and the correction doesn't. */
function* replacedByUnknown({ dispute, before, after, at }: Exchange): Generator<Finding> {
  if (before.visible.found <= 0.5 || after.nowhere <= 0.5) return
  const isAlike = (dispute.difference?.similarity ?? 0) > 0.3
  yield {
    kind: isAlike ? 'value_replaced_by_unknown' : 'founded_replaced_by_unknown',
    ...at,
    note: `${took(before.visible)}; nothing says "${after.visible.missing}"`,
    strength: Math.min(before.visible.found, after.nowhere),
  }
}

/** Neither value is in a source, so each must have been computed. */
function* bothComputed({ lost, gained, before, after, at }: Exchange): Generator<Finding> {
  const [fact] = lost.facts
  if (!fact || gained.facts.length === 0 || before.nowhere <= 0.5 || after.nowhere <= 0.5) return
  yield {
    kind: 'both_computed',
    ...at,
    note: `was ${quote(fact.text)} and is approved as "${after.visible.missing}": neither is in what the step had`,
    strength: Math.min(before.nowhere, after.nowhere),
  }
}

/** The removed and added terms, except labels that the step chooses from a list: those have no source. */
function valuesOf({ changes, lost, gained }: Difference, step: Step): { lost: Terms; gained: Terms } {
  const chosen = changes.filter(({ path }) => choicesOf(step, path) !== undefined)
  if (chosen.length === 0) return { lost, gained }
  const side = (name: 'before' | 'after') => termsOfValue(chosen.flatMap(change => change[name] ?? []))
  return { lost: without(lost, side('before')), gained: without(gained, side('after')) }
}

/** What comments say about the right value, if there is no correction. */
function saidBy({ comments, step }: Dispute): Terms {
  const { facts, words } = without(termsOf(comments.join('\n')), termsOfValue(step.output))
  return { facts, words: new Map([...words].filter(([, { isName }]) => isName)) }
}

/**
 * The support for terms in each kind of source. In a longer rewording, common words count for nothing, because a
 * paraphrase has them as well.
 */
function standingOf(terms: Terms, counterpart: Terms, { visible, prompts, unfetched, dispute }: Scene): Standing {
  // If a text isn't in the language of its sources, its words count little.
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

/** The first place in an output with any of the terms. */
function pathOf({ facts, words }: Terms, step: Step): string {
  for (const [path, leaf] of leavesOf(step.output, 'output')) {
    const source = [sourceOf('output', step, path, leaf)]
    if (facts.some(fact => findFact(fact, source)) || [...words.keys()].some(stem => findWord(stem, source)))
      return path
  }
  return 'output'
}
