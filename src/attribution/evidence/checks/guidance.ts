import type { Json } from '../../../domain/json.ts'
import { spend } from '../../effort.ts'
import type { Finding } from '../../finding.ts'
import { plain, termsOf } from '../../text/terms.ts'
import { UP_TO_NEGATION, VAGUE } from '../../text/vocabulary.ts'
import { numbersIn } from '../arithmetic.ts'
import type { Change } from '../difference.ts'
import type { Dispute } from '../dispute.ts'
import {
  type Bounds,
  boundsIn,
  forbids,
  guidelinesOf,
  limitsIn,
  type Passage,
  sentencesOf,
  wordingOf,
} from '../guidelines.ts'
import type { Scene } from '../scene.ts'
import { quote } from '../sources.ts'

/** Compares the wording of the prompt and guidelines with the output and the correction. */
export function* checkGuidance(scene: Scene): Generator<Finding> {
  const { dispute, origin } = scene
  if (!dispute) return
  const guidelines = guidelinesOf(scene)
  const sentences = sentencesOf(guidelines)
  const forbidding = sentences.filter(forbids)
  yield* checkLength(scene, dispute, guidelines)
  yield* checkMentions(dispute, sentences, forbidding)
  yield* checkSupport(scene, dispute, sentences)
  yield* checkForbiddenWords(dispute, forbidding)
  if (guidelines.length === 0)
    yield { kind: 'no_guideline', spanId: origin.spanId, path: 'prompt', note: 'is unknown', strength: 1 }
  yield* checkVagueWords(sentences)
}

const placeOf = ({ spanId, path }: Passage) => ({ spanId, path })

/** Reports length limits that the output exceeds and the correction doesn't, or the other way around. */
function* checkLength(
  { origin }: Scene,
  { step, approved }: Dispute,
  guidelines: readonly Passage[],
): Generator<Finding> {
  for (const guideline of guidelines) {
    for (const limit of limitsIn(guideline.text)) {
      const isOver = (value: Json | undefined) => wordingOf(value).some(item => limit.count(item) > limit.most)
      const [breaks, corrected] = [isOver(step.output), isOver(approved)]
      if (breaks && !corrected) yield outputTooLong(origin.spanId, limit.text)
      if (corrected && !breaks) yield correctionTooLong(guideline, limit.text)
    }
  }
}

const outputTooLong = (spanId: string, limit: string): Finding => ({
  kind: 'rule_broken',
  spanId,
  path: 'output',
  note: `is longer than "${limit}" allows`,
  strength: 1,
})

const correctionTooLong = (guideline: Passage, limit: string): Finding => ({
  kind: 'correction_breaks_rule',
  ...placeOf(guideline),
  note: `says "${limit}", but the correction is longer`,
  strength: 1,
})

/**
 * Reports the sentence that shares the most words with the change, and the prohibition that shares the most words with
 * the change and the comments.
 */
function* checkMentions(
  dispute: Dispute,
  sentences: readonly Passage[],
  forbidding: readonly Passage[],
): Generator<Finding> {
  const changed = changedWords(dispute)
  const commentWords = new Set(dispute.comments.flatMap(comment => [...termsOf(comment).words.keys()]))
  const namesChanged = (sentence: Passage) => overlap(sentence, changed)
  const concerns = (sentence: Passage) => overlap(sentence, changed) + overlap(sentence, commentWords)
  const about = most(sentences, namesChanged)
  if (about && namesChanged(about) > 0) {
    const strength = Math.min(1, namesChanged(about) / 3)
    yield { kind: 'guideline_mentions_change', ...placeOf(about), note: `says ${quote(about.text)}`, strength }
  }
  const forbid = most(forbidding, concerns)
  if (!forbid) return
  const hits = concerns(forbid)
  yield {
    kind: hits > 0 ? 'prohibition_relevant' : 'prohibition_given',
    ...placeOf(forbid),
    note: `says ${quote(forbid.text)}`,
    strength: hits > 0 ? Math.min(1, 0.4 + hits / 4) : 0.5,
  }
}

/** Stems of the removed words, the added words, and the changed fields' names. */
function changedWords({ difference }: Dispute): ReadonlySet<string> {
  const { lost, gained, changes = [] } = difference ?? {}
  const fields = changes.flatMap(({ path }) => [...termsOf(path.replace(/[_.[\]\d]+/gu, ' ')).words.keys()])
  return new Set([...(lost?.words.keys() ?? []), ...(gained?.words.keys() ?? []), ...fields])
}

function overlap({ text }: Passage, stems: ReadonlySet<string>): number {
  const { words } = termsOf(text)
  spend(words.size)
  return [...words.keys()].filter(stem => stems.has(stem)).length
}

/** The first passage with the highest score. */
function most(passages: readonly Passage[], score: (passage: Passage) => number): Passage | undefined {
  const scores = passages.map(score)
  const highest = scores.reduce((one, other) => Math.max(one, other), Number.NEGATIVE_INFINITY)
  return passages[scores.indexOf(highest)]
}

/**
 * Checks whether a sentence in the guidelines or docs gives the output's or the correction's value for a case like this
 * one.
 */
function* checkSupport(scene: Scene, dispute: Dispute, sentences: readonly Passage[]): Generator<Finding> {
  const docs = scene.sources.filter(({ kind }) => kind === 'doc')
  const inDocs = sentencesOf(docs.map(({ value, path }) => ({ text: String(value), spanId: null, path })))
  const [forOutput, forCorrection] = supportingPassages(scene, dispute, [...sentences, ...inDocs])
  if (forOutput && !forCorrection) {
    const note = `says ${quote(forOutput.text)}, which supports the output`
    yield { kind: 'guideline_backs_output', ...placeOf(forOutput), note, strength: 1 }
  }
  if (forCorrection && !forOutput) {
    const note = `says ${quote(forCorrection.text)}, which supports the correction`
    yield { kind: 'guideline_backs_correction', ...placeOf(forCorrection), note, strength: 1 }
  }
  const [againstOutput, againstCorrection] = contradictingPassages(scene, dispute, [...sentences, ...inDocs])
  if (againstCorrection && !againstOutput) {
    const note = `says ${quote(againstCorrection.text)}, which doesn't apply here`
    yield { kind: 'guideline_contradicts_correction', ...placeOf(againstCorrection), note, strength: 1 }
  }
  if (againstOutput && !againstCorrection) {
    const note = `says ${quote(againstOutput.text)}, which doesn't apply here`
    yield { kind: 'guideline_contradicts_output', ...placeOf(againstOutput), note, strength: 1 }
  }
  if (forOutput && forCorrection && forOutput !== forCorrection) {
    const note = `supports the output with ${quote(forOutput.text)} and the correction with ${quote(forCorrection.text)}`
    yield { kind: 'guideline_supports_both', ...placeOf(forOutput), note, strength: 1 }
  }
}

/**
 * Finds a clause for the removed value and one for the added value. Each clause gives its value only within bounds, and
 * no number in this case is within them.
 */
function contradictingPassages(
  scene: Scene,
  dispute: Dispute,
  sentences: readonly Passage[],
): [Passage | undefined, Passage | undefined] {
  const [change] = shortChanges(dispute)
  const numbers = numbersOfCase(scene, dispute)
  if (!change || numbers.length === 0) return [undefined, undefined]
  const clauses = sentences.flatMap(sentence => {
    spend(sentence.text.length)
    return sentence.text.split(/[;.]\s|\n/u).map(text => ({ ...sentence, text }))
  })
  const bounded = clauses.flatMap(clause => {
    const bounds = boundsIn(clause.text)
    return bounds ? [{ clause, tokens: tokensOf(clause.text), isMet: areMet(bounds, numbers) }] : []
  })
  const find = (value: Json | undefined) => {
    const wanted = plain(String(value))
    const own = bounded.filter(({ tokens }) => tokens.includes(wanted))
    return own.some(({ isMet }) => isMet) ? undefined : own[0]?.clause
  }
  return [find(change.before), find(change.after)]
}

function areMet({ from, to }: Bounds, numbers: readonly number[]): boolean {
  spend(1 + numbers.length / 5)
  return numbers.some(number => number >= from && number <= to)
}

const shortChanges = ({ difference }: Dispute): Change[] =>
  (difference?.changes ?? []).filter(({ before, after }) => isShort(before) && isShort(after))

/**
 * The numbers to compare with bounds: the ones that the output and the correction share or, if there are none, the ones
 * that the step received.
 */
function numbersOfCase({ visible }: Scene, { approved, step }: Dispute): number[] {
  const inOutput = new Set(numbersIn(step.output))
  const kept = numbersIn(approved ?? null).filter(number => inOutput.has(number))
  const given = visible.filter(({ kind }) => kind === 'input' || kind === 'output')
  return kept.length > 0 ? kept : given.flatMap(({ value }) => numbersIn(value))
}

/**
 * Finds a sentence for the removed value and one for the added value. Each sentence gives its value for a case like
 * this one.
 */
function supportingPassages(
  scene: Scene,
  dispute: Dispute,
  sentences: readonly Passage[],
): [Passage | undefined, Passage | undefined] {
  const changes = shortChanges(dispute)
  if (changes.length === 0) return [undefined, undefined]
  const known = new Set(
    scene.visible.flatMap(({ terms }) => {
      spend(terms.words.size)
      return [...terms.words.keys()]
    }),
  )
  const numbers = numbersOfCase(scene, dispute)
  const lost = changes.map(({ before }) => plain(String(before)))
  const gained = changes.map(({ after }) => plain(String(after)))
  const find = (values: readonly string[], others: readonly string[]) =>
    sentences.find(({ text }) => {
      spend(2 * text.length)
      const tokens = plain(text).split(/[^\p{L}\p{N}_]+/u)
      spend((tokens.length * changes.length) / 5)
      if (!values.some(value => tokens.includes(value)) || others.some(value => tokens.includes(value))) return false
      const bounds = boundsIn(text)
      if (bounds) return areMet(bounds, numbers)
      const stems = [...termsOf(text).words.keys()]
      spend((stems.length * values.length) / 5)
      return stems.some(stem => known.has(stem) && !values.some(value => value.startsWith(stem)))
    })
  return [find(lost, gained), find(gained, lost)]
}

const isShort = (value: Json | undefined): boolean =>
  value !== undefined && value !== null && typeof value !== 'object' && String(value).length <= 30

/** Reports a word that a guideline forbids, that the output uses, and that the correction removes. */
function* checkForbiddenWords({ approved, step }: Dispute, forbidding: readonly Passage[]): Generator<Finding> {
  if (approved === undefined) return
  const [written, right] = [new Set(tokensOf(step.output)), new Set(tokensOf(approved))]
  const named = forbidding.flatMap(sentence => {
    const forbidden = UP_TO_NEGATION.test(sentence.text) ? tokensOf(sentence.text.replace(UP_TO_NEGATION, '')) : []
    const word = forbidden.find(token => written.has(token) && !right.has(token))
    return word === undefined ? [] : [{ sentence, word }]
  })
  const [used] = named
  if (!used) return
  yield {
    kind: 'forbidden_word_used',
    ...placeOf(used.sentence),
    note: `says ${quote(used.sentence.text)}, but the output uses "${used.word}"`,
    strength: Math.min(1, 0.5 + named.length / 4),
  }
}

/** The words and numbers in a value as written, including common words. */
const tokensOf = (value: Json | undefined): string[] =>
  wordingOf(value).flatMap(text => {
    spend(2 * text.length)
    return plain(text).match(/[\p{L}\p{N}]+(?:[/._-][\p{L}\p{N}]+)*/gu) ?? []
  })

/** Reports the first vague word. The strength depends on how many there are. */
function* checkVagueWords(sentences: readonly Passage[]): Generator<Finding> {
  const vague = sentences.flatMap(sentence => {
    spend(2 * sentence.text.length)
    return [...sentence.text.matchAll(VAGUE)].map(([word]) => ({ word, sentence }))
  })
  const [first] = vague
  if (!first) return
  yield {
    kind: 'guideline_vague',
    ...placeOf(first.sentence),
    note: `says "${first.word}" without a clear limit: ${quote(first.sentence.text)}`,
    strength: Math.min(1, 0.5 + vague.length / 6),
  }
}
