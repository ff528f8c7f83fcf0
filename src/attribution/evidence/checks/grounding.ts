import type { Json } from '../../../domain/json.ts'
import type { Step } from '../../../domain/subject.ts'
import type { Finding } from '../../finding.ts'
import { NO_TERMS, type Terms, termsOfValue } from '../../text/terms.ts'
import { type Difference, without } from '../difference.ts'
import type { Scene } from '../scene.ts'
import {
  fieldOf,
  findFact,
  findWord,
  leavesOf,
  locationOf,
  partsOf,
  quote,
  type Source,
  type Support,
  slugOf,
  sourceOf,
  supportOf,
} from '../sources.ts'

/** The minimum weight worth searching for: a number weighs 2, a word 0.5. */
const MIN_WEIGHT = 0.5

/** Checks where the removed and added values came from. */
export function* checkGrounding(scene: Scene): Generator<Finding> {
  const { dispute, origin, subject } = scene
  if (!dispute?.difference) return
  const { lost, gained } = valuesOf(dispute.difference, choicesIn(subject.steps))
  const [before, after] = [supportByKind(lost, gained, scene), supportByKind(gained, lost, scene)]
  const isLost = before.weight >= MIN_WEIGHT || lost.words.size > gained.words.size / 3
  const isGained = after.weight >= MIN_WEIGHT || gained.words.size > lost.words.size / 3
  const at = { spanId: origin.spanId, path: pathOf(lost, origin) }
  if (isLost && before.nowhere > 0.3) {
    const kind = isGained ? 'unsupported_value_replaced' : 'unsupported_value_removed'
    const note = `contains ${quote(before.missing)}, which isn't in any input, state, or knowledge doc`
    // One or two unsupported words are hardly a claim.
    yield { kind, ...at, note, strength: before.nowhere * Math.min(1, before.weight / 1.5) }
  }
  if (isLost && before.visible.found > 0.5) {
    yield { kind: 'removed_value_in_context', ...at, note: took(before.visible), strength: before.visible.found }
  } else if (isLost && isGained && before.prompt.found > 0.5) {
    const strength = before.prompt.found
    yield { kind: 'removed_value_in_prompt', ...at, note: took(before.prompt), strength }
  }
  if (isGained && after.visible.at && after.visible.found > 0.5) {
    const note = `contains ${quote(after.visible.at.text)}, which the approved output also contains`
    yield {
      kind: 'added_value_in_context',
      ...locationOf(after.visible.at.source),
      note,
      strength: after.visible.found,
    }
  }
  if (isGained && after.nowhere > 0.3) {
    const kind = isLost ? 'added_value_not_found' : 'pure_addition_not_found'
    const note = `was corrected to ${quote(after.missing)}, which isn't in any input, state, or knowledge doc`
    yield { kind, spanId: dispute.step.spanId, path: 'output', note, strength: after.nowhere }
  }
  // Any doc can contain a common word.
  const [elsewhere, here] = [scene.unfetched, scene.visible].map(sources => supportOf(gained, sources, 0))
  const advantage = (elsewhere?.found ?? 0) - (here?.found ?? 0)
  if (isGained && elsewhere?.at && advantage > 0.15 && elsewhere.found > 0.4 && elsewhere.weight >= 2) {
    const { text, source } = elsewhere.at
    const note = `contains ${quote(text)}, which the approved output also contains, but wasn't fetched`
    yield { kind: 'added_value_not_fetched', ...locationOf(source), note, strength: Math.min(1, 0.4 + advantage) }
  }
}

/** Describes where a value comes from: `took "12" from the output of "quote"`. */
function took({ at }: Support): string {
  if (!at) return 'took it from nowhere'
  const { kind, path, step } = at.source
  const isWhole = path === 'input' || path === 'output' || path === 'prompt'
  const value = kind === 'doc' ? `the knowledge doc "${slugOf(at.source)}"` : isWhole ? `the ${path}` : path
  const relation = kind === 'prompt' ? 'for' : isWhole ? 'of' : 'in'
  return `took ${quote(at.text)} from ${value}${step && !step.isRoot ? ` ${relation} "${step.stepId}"` : ''}`
}

/** The removed and added terms, except for labels from a fixed list, which don't come from a source. */
function valuesOf({ changes, lost, gained }: Difference, choices: ReadonlySet<Json>): { lost: Terms; gained: Terms } {
  const chosen = changes.filter(({ before = null, after = null }) => choices.has(before) || choices.has(after))
  if (chosen.length === 0) return { lost, gained }
  const side = (name: 'before' | 'after') => termsOfValue(chosen.flatMap(change => change[name] ?? []))
  return { lost: without(lost, side('before')), gained: without(gained, side('after')) }
}

/**
 * Measures the support for terms in each kind of source. In a longer rewording, common words are ignored, because any
 * paraphrase contains them.
 */
function supportByKind(terms: Terms, counterpart: Terms, { visible, prompts, unfetched, dispute }: Scene) {
  // If an output is in a different language than its sources, the output's words have little weight.
  const { words } = termsOfValue(dispute?.approved ?? null)
  const isReworded = counterpart.words.size > terms.words.size / 3 && terms.words.size > 3
  const wordWeight = isReworded ? 0 : supportOf({ ...NO_TERMS, words }, visible).found > 0.3 ? 0.5 : 0.1
  const support = (sources: readonly Source[]) => supportOf(terms, sources, wordWeight)
  const { found, weight, missing } = support([...visible, ...prompts, ...unfetched])
  return {
    visible: support(visible),
    prompt: support(prompts),
    /** The share of the terms that no source contains, 0 to 1, and the first such term. */
    nowhere: weight === 0 ? 0 : 1 - found,
    missing,
    weight,
  }
}

/** The path of the first value in an output that contains any of the terms. */
function pathOf({ facts, words }: Terms, step: Step): string {
  for (const [path, leaf] of leavesOf(step.output, 'output')) {
    const source = [sourceOf('output', step, path, leaf)]
    if (facts.some(fact => findFact(fact, source)) || [...words.keys()].some(stem => findWord(stem, source)))
      return path
  }
  return 'output'
}

/** The values in the enums of the steps' schemas. */
function choicesIn(steps: readonly Step[]): ReadonlySet<Json> {
  const lists = steps.flatMap(({ prompt }) => [...partsOf(prompt?.outputSchema ?? null, '')])
  return new Set(lists.flatMap(([path, part]) => (Array.isArray(part) && fieldOf(path) === 'enum' ? part : [])))
}
