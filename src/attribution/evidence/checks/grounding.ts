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

/** Less than that was not looked for in earnest: one number weighs 2, a word a half. */
const ENOUGH = 0.5

/** What speaks for a value that was lost, or gained, in each of the places that it may come from. */
interface Standing {
  visible: Support
  prompt: Support
  /** Docs that no step fetched. */
  unfetched: Support
  /** 0 to 1: how much of it stands nowhere. */
  nowhere: number
  weight: number
}

/** Where the values that were taken out, and those that were put in, come from. */
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

/** What was taken out and what was put in, with where each of them stands. */
interface Exchange {
  dispute: Dispute
  lost: Terms
  gained: Terms
  before: Standing
  after: Standing
  /** Whether there is enough of it to be looked for. */
  isLost: boolean
  isGained: boolean
  /** Where the output has what was taken out. */
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

/** What was found, in quotation marks. */
const said = ({ at }: Support): string => (at ? `"${at.text}"` : 'it')

/** A support in words: `took "12" from state.rates of quote`. */
const took = (support: Support): string => {
  const { source } = support.at ?? {}
  return `took ${said(support)} from ${source ? `${source.path}${ownerOf(source)}` : 'nowhere'}`
}

const ownerOf = ({ step }: Source): string => (step && !step.isRoot ? ` of ${step.stepId}` : '')

const isOfDoc = ({ at }: Support): boolean => at?.source.kind === 'retrieved' || at?.source.kind === 'doc'

const locationIn = ({ at }: Support) => (at ? locationOf(at.source) : { spanId: null, path: 'output' })

/** Where what was taken out came from: from nowhere, from what the step had, or from the prompt. */
function* groundOfLost({ before, isGained, at }: Exchange): Generator<Finding> {
  const { visible, prompt, nowhere, weight } = before
  if (nowhere > 0.3) {
    yield {
      kind: isGained ? 'unfounded_replaced' : 'unfounded_removed',
      ...at,
      note: `holds "${visible.missing}", which stands in no input, state or knowledge doc`,
      // A word or two that stand nowhere are hardly a claim.
      strength: nowhere * Math.min(1, weight / 1.5),
    }
  }
  if (visible.found > 0.5 && !isGained) {
    const note = `${took(visible)}, and was not to show it`
    yield { kind: 'founded_removed', ...at, note, strength: visible.found }
  }
  if (visible.found > 0.5 && isGained) {
    const kind = isOfDoc(visible) ? 'lost_stands_in_docs' : 'lost_stands_in_context'
    yield { kind, ...at, note: took(visible), strength: visible.found }
  }
  if (visible.found <= 0.5 && prompt.found > 0.5) {
    const note = `took ${said(prompt)} from the prompt`
    yield { kind: 'lost_stands_in_prompt', ...at, note, strength: prompt.found }
  }
}

/** Where what was put in stands: in what the step had, nowhere, in the prompt, or in docs that nobody fetched. */
function* groundOfGained(exchange: Exchange): Generator<Finding> {
  const { dispute, after } = exchange
  const { visible, prompt, unfetched } = after
  const { spanId } = dispute.step
  if (visible.found > 0.5) {
    yield {
      kind: kindOfKnown(exchange),
      ...locationIn(visible),
      note: `has ${said(visible)}, which the ${dispute.difference ? 'approved output' : 'comment'} says`,
      strength: visible.found,
    }
  }
  if (after.nowhere > 0.3) {
    const verb = dispute.difference ? 'was corrected to' : 'speaks of'
    yield {
      kind: kindOfUnknown(exchange),
      spanId,
      path: dispute.difference ? 'output' : 'feedback',
      note: `${verb} "${visible.missing}", which stands in no input, state or knowledge doc`,
      strength: after.nowhere,
    }
  }
  if (visible.found <= 0.6 && prompt.found > 0.5 && prompt.found > visible.found) {
    const note = `says ${said(prompt)}, as the approved output does`
    yield { kind: 'gained_stands_in_prompt', spanId, path: 'prompt', note, strength: prompt.found }
  }
  const advantage = unfetched.found - visible.found
  if (advantage > 0.15 && unfetched.found > 0.4 && after.weight >= 2) {
    yield {
      kind: 'gained_stands_unfetched',
      ...locationIn(unfetched),
      note: `has ${said(unfetched)}, which the approved output says, and was not fetched`,
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

/** Both stood before the step, and it took the wrong one. */
function* otherValueTaken({ before, after, at }: Exchange): Generator<Finding> {
  const [taken, right] = [before.visible, after.visible]
  if (taken.found <= 0.5 || right.found <= 0.5) return
  const note = `took ${said(taken)} where ${said(right)} stands as well`
  yield { kind: 'other_value_taken', ...at, note, strength: Math.min(taken.found, right.found) }
}

/** What people know, and no place that the run could look at. */
function* unknownFacts({ dispute, lost, gained, after }: Exchange, scene: Scene): Generator<Finding> {
  const places = [...scene.visible, ...scene.prompts, ...scene.unfetched]
  const added = gained.facts.filter(fact => !findFact(fact, places)).length
  if (!dispute.difference || added < 2 || added <= lost.facts.length) return
  yield {
    kind: 'unknown_facts_added',
    spanId: dispute.step.spanId,
    path: 'output',
    note: `was corrected with ${added} facts that stand nowhere, such as "${after.visible.missing}"`,
    strength: Math.min(1, (added - lost.facts.length) / 3),
  }
}

/** The output kept to what it had, and the correction does not. */
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

/** Neither value stands anywhere: each must have been worked out. */
function* bothComputed({ lost, gained, before, after, at }: Exchange): Generator<Finding> {
  const [fact] = lost.facts
  if (!fact || gained.facts.length === 0 || before.nowhere <= 0.5 || after.nowhere <= 0.5) return
  yield {
    kind: 'both_computed',
    ...at,
    note: `was ${quote(fact.text)} and is approved as "${after.visible.missing}": neither stands in what the step had`,
    strength: Math.min(before.nowhere, after.nowhere),
  }
}

/** What was lost and gained but for labels that the step chooses from a list: those come from nowhere. */
function valuesOf({ changes, lost, gained }: Difference, step: Step): { lost: Terms; gained: Terms } {
  const chosen = changes.filter(({ path }) => choicesOf(step, path) !== undefined)
  if (chosen.length === 0) return { lost, gained }
  const side = (name: 'before' | 'after') => termsOfValue(chosen.flatMap(change => change[name] ?? []))
  return { lost: without(lost, side('before')), gained: without(gained, side('after')) }
}

/** What comments say of the right value, where no correction does. */
function saidBy({ comments, step }: Dispute): Terms {
  const { facts, words } = without(termsOf(comments.join('\n')), termsOfValue(step.output))
  return { facts, words: new Map([...words].filter(([, { isName }]) => isName)) }
}

/**
 * Where terms stand. Among many other words, common ones tell nothing: a text that says the same in other words has them, too.
 */
function standingOf(terms: Terms, counterpart: Terms, { visible, prompts, unfetched, dispute }: Scene): Standing {
  // Where a text is in another language than its sources, its words tell nothing.
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

/** Where an output has the first of some terms. */
function pathOf({ facts, words }: Terms, step: Step): string {
  for (const [path, leaf] of leavesOf(step.output, 'output')) {
    const source = [sourceOf('output', step, path, leaf)]
    if (facts.some(fact => findFact(fact, source)) || [...words.keys()].some(stem => findWord(stem, source)))
      return path
  }
  return 'output'
}
