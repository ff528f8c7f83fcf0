import { type Difference, without } from '../difference.ts'
import type { Finding } from '../evidence.ts'
import type { Scene } from '../scene.ts'
import { findFact, findWord, leavesOf, quote, type Source, type Support, supportOf } from '../sources.ts'
import type { Step } from '../subject.ts'
import { type Terms, termsOf, termsOfValue } from '../terms.ts'
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
  const { dispute, origin } = scene
  if (!dispute) return
  const { step } = dispute
  const { lost, gained } = dispute.difference
    ? valuesOf(dispute.difference, step)
    : { lost: EMPTY, gained: saidBy(scene) }
  const before = standingOf(lost, gained, scene)
  const after = standingOf(gained, lost, scene)
  const isLost = before.weight >= ENOUGH || lost.words.size > gained.words.size / 3
  const isGained = after.weight >= ENOUGH || gained.words.size > lost.words.size / 3
  const at = { spanId: origin.spanId, path: pathOf(lost, scene) }
  const place = (support: Support) =>
    support.at ? `${support.at.source.path}${ownerOf(support.at.source)}` : 'nowhere'
  const said = (support: Support) => (support.at ? `"${support.at.text}"` : 'it')
  const approvedAt = (support: Support) => ({
    spanId: support.at?.source.step?.spanId ?? null,
    path: support.at?.source.path ?? 'output',
  })

  if (isLost) {
    const ground = before.visible.found
    if (before.nowhere > 0.3) {
      yield {
        kind: isGained ? 'unfounded_replaced' : 'unfounded_removed',
        ...at,
        note: `holds "${before.visible.missing}", which stands in no input, state or knowledge doc`,
        // A word or two that stand nowhere are hardly a claim.
        strength: before.nowhere * Math.min(1, before.weight / 1.5),
      }
    }
    if (ground > 0.5 && !isGained) {
      yield {
        kind: 'founded_removed',
        ...at,
        note: `took ${said(before.visible)} from ${place(before.visible)}, and was not to show it`,
        strength: ground,
      }
    }
    if (ground > 0.5 && isGained) {
      const { source } = before.visible.at ?? {}
      const kind =
        source?.kind === 'retrieved' || source?.kind === 'doc' ? 'lost_stands_in_docs' : 'lost_stands_in_context'
      yield { kind, ...at, note: `took ${said(before.visible)} from ${place(before.visible)}`, strength: ground }
    }
    if (ground <= 0.5 && before.prompt.found > 0.5) {
      yield {
        kind: 'lost_stands_in_prompt',
        ...at,
        note: `took ${said(before.prompt)} from the prompt`,
        strength: before.prompt.found,
      }
    }
  }
  if (isGained) {
    if (after.visible.found > 0.5) {
      const { source } = after.visible.at ?? {}
      const isDoc = source?.kind === 'retrieved' || source?.kind === 'doc'
      yield {
        kind: !dispute.difference
          ? 'comment_stands_in_context'
          : isDoc
            ? 'gained_stands_in_docs'
            : 'gained_stands_in_context',
        ...approvedAt(after.visible),
        note: `has ${said(after.visible)}, which the ${dispute.difference ? 'approved output' : 'comment'} says`,
        strength: after.visible.found,
      }
    }
    if (after.nowhere > 0.3) {
      const where = dispute.difference ? 'output' : 'feedback'
      const kind =
        dispute.difference === undefined
          ? 'comment_stands_nowhere'
          : isLost
            ? 'gained_stands_nowhere'
            : 'addition_stands_nowhere'
      yield {
        kind,
        spanId: step.spanId,
        path: where,
        note: `${dispute.difference ? 'was corrected to' : 'speaks of'} "${after.visible.missing}", which stands in no input, state or knowledge doc`,
        strength: after.nowhere,
      }
    }
    if (after.visible.found <= 0.6 && after.prompt.found > 0.5 && after.prompt.found > after.visible.found) {
      yield {
        kind: 'gained_stands_in_prompt',
        spanId: step.spanId,
        path: 'prompt',
        note: `says ${said(after.prompt)}, as the approved output does`,
        strength: after.prompt.found,
      }
    }
    const advantage = after.unfetched.found - after.visible.found
    if (advantage > 0.15 && after.unfetched.found > 0.4 && after.weight >= 2) {
      yield {
        kind: 'gained_stands_unfetched',
        ...approvedAt(after.unfetched),
        note: `has ${said(after.unfetched)}, which the approved output says, and was not fetched`,
        strength: Math.min(1, 0.4 + advantage),
      }
    }
  }
  if (isLost && isGained && before.visible.found > 0.5 && after.visible.found > 0.5) {
    yield {
      kind: 'other_value_taken',
      ...at,
      note: `took ${said(before.visible)} where ${said(after.visible)} stands as well`,
      strength: Math.min(before.visible.found, after.visible.found),
    }
  }
  const added = gained.facts.filter(
    fact => !findFact(fact, [...scene.visible, ...scene.prompts, ...scene.unfetched]),
  ).length
  if (dispute.difference && added >= 2 && added > lost.facts.length) {
    yield {
      kind: 'unknown_facts_added',
      spanId: step.spanId,
      path: 'output',
      note: `was corrected with ${added} facts that stand nowhere, such as "${after.visible.missing}"`,
      strength: Math.min(1, (added - lost.facts.length) / 3),
    }
  }
  if (
    isLost &&
    isGained &&
    before.visible.found > 0.5 &&
    after.nowhere > 0.5 &&
    (dispute.difference?.similarity ?? 0) > 0.3
  ) {
    yield {
      kind: 'value_replaced_by_unknown',
      ...at,
      note: `took ${said(before.visible)} from ${place(before.visible)}; nothing says "${after.visible.missing}"`,
      strength: Math.min(before.visible.found, after.nowhere),
    }
  } else if (isLost && isGained && before.visible.found > 0.5 && after.nowhere > 0.5) {
    yield {
      kind: 'founded_replaced_by_unknown',
      ...at,
      note: `took ${said(before.visible)} from ${place(before.visible)}; nothing says "${after.visible.missing}"`,
      strength: Math.min(before.visible.found, after.nowhere),
    }
  }
  const isByFacts = lost.facts.length > 0 && gained.facts.length > 0
  if (isByFacts && before.nowhere > 0.5 && after.nowhere > 0.5) {
    yield {
      kind: 'both_computed',
      ...at,
      note: `was ${quote(lost.facts[0]?.text)} and is approved as "${after.visible.missing}": neither stands in what the step had`,
      strength: Math.min(before.nowhere, after.nowhere),
    }
  }
}

/** What was lost and gained but for labels that the step chooses from a list: those come from nowhere. */
function valuesOf({ changes, lost, gained }: Difference, step: Step): { lost: Terms; gained: Terms } {
  const chosen = changes.filter(({ path }) => choicesOf(step, path) !== undefined)
  if (chosen.length === 0) return { lost, gained }
  const side = (name: 'before' | 'after') => termsOfValue(chosen.flatMap(change => change[name] ?? []))
  return { lost: without(lost, side('before')), gained: without(gained, side('after')) }
}

const EMPTY: Terms = { facts: [], words: new Map() }

/** What comments say of the right value, where no correction does. */
function saidBy({ dispute }: Scene): Terms {
  const said = termsOf(dispute?.comments.join('\n') ?? '')
  const output = termsOfValue(dispute?.step.output ?? null)
  const { facts, words } = without(said, output)
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

const ownerOf = ({ step }: Source): string => (step && !step.isRoot ? ` of ${step.stepId}` : '')

/** Where an output has the first of some terms. */
function pathOf({ facts, words }: Terms, { dispute, origin }: Scene): string {
  const step = origin ?? dispute?.step
  for (const [path, leaf] of leavesOf(step.output, 'output')) {
    const terms = termsOfValue(leaf)
    const source: Source = {
      kind: 'output',
      step,
      path,
      value: leaf,
      terms,
      readings: new Set(terms.facts.flatMap(({ readings }) => readings)),
    }
    if (facts.some(fact => findFact(fact, [source])) || [...words.keys()].some(stem => findWord(stem, [source])))
      return path
  }
  return 'output'
}
