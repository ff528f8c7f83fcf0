import type { Json } from '../../domain/json.ts'
import { numbersIn } from '../arithmetic.ts'
import { isNothing } from '../difference.ts'
import type { Finding } from '../evidence.ts'
import type { Scene } from '../scene.ts'
import { leavesOf, quote, supportOf } from '../sources.ts'
import { numbersOf, plain, type Terms, termsOf, termsOfValue } from '../terms.ts'
import {
  ABOVE,
  AT_LEAST,
  BELOW,
  DECLINES,
  DRAWS_SCOPE,
  FORBIDS,
  FROM_TO,
  LENGTH,
  NAMES_RULES,
  NUMBER_WORDS,
  UNITS_OF_LENGTH,
  UP_TO_NEGATION,
  VAGUE,
} from '../vocabulary.ts'

/** How long a text is, in each unit that prompts limit it in. */
const COUNTS: Readonly<Record<keyof typeof UNITS_OF_LENGTH, (text: string) => number>> = {
  words: text => text.trim().split(/\s+/u).length,
  characters: text => [...text].length,
  sentences: text => text.split(/[.!?。！？]+(?:\s|$)/u).filter(part => /\p{L}/u.test(part)).length,
  lines: text => text.split('\n').filter(line => line.trim() !== '').length,
}

const UNITS = ['words', 'characters', 'sentences', 'lines'] as const

/** The prompt's and the guideline's words, against the output and against the correction. */
export function* checkGuidance(scene: Scene): Generator<Finding> {
  const { dispute, origin, prompts } = scene
  if (!dispute) return
  const guidelines = guidelinesOf(scene)
  const { output } = dispute.step
  for (const { text, spanId, path } of guidelines) {
    for (const limit of limitsIn(text)) {
      const isOver = (value: Json | undefined) => textsOf(value).some(item => limit.count(item) > limit.most)
      const [breaks, corrected] = [isOver(output), isOver(dispute.approved)]
      if (breaks && !corrected)
        yield {
          kind: 'rule_broken',
          spanId: origin.spanId,
          path: 'output',
          note: `is longer than "${limit.text}" allows`,
          strength: 1,
        }
      if (corrected && !breaks)
        yield {
          kind: 'correction_breaks_rule',
          spanId,
          path,
          note: `says "${limit.text}", and the correction is longer`,
          strength: 1,
        }
    }
  }
  const sentences = guidelines.flatMap(({ text, spanId, path }) =>
    sentencesOf(text).map(sentence => ({ sentence, spanId, path })),
  )
  const forbidding = sentences.filter(({ sentence }) => FORBIDS.test(sentence))
  const { lost, gained } = dispute.difference ?? {}
  const changed = new Set([...(lost?.words.keys() ?? []), ...(gained?.words.keys() ?? []), ...changedFields(scene)])
  const said = new Set(dispute.comments.flatMap(comment => [...termsOf(comment).words.keys()]))
  const overlap = (sentence: string, stems: ReadonlySet<string>) =>
    [...termsOf(sentence).words.keys()].filter(stem => stems.has(stem)).length
  const [about] = sentences.toSorted(
    (left, right) => overlap(right.sentence, changed) - overlap(left.sentence, changed),
  )
  if (about && overlap(about.sentence, changed) > 0) {
    yield {
      kind: 'guideline_names_change',
      spanId: about.spanId,
      path: about.path,
      note: `says ${quote(about.sentence)}`,
      strength: Math.min(1, overlap(about.sentence, changed) / 3),
    }
  }
  const [forbid] = forbidding.toSorted(
    (left, right) =>
      overlap(right.sentence, changed) +
      overlap(right.sentence, said) -
      overlap(left.sentence, changed) -
      overlap(left.sentence, said),
  )
  if (forbid) {
    const hits = overlap(forbid.sentence, changed) + overlap(forbid.sentence, said)
    yield {
      kind: hits > 0 ? 'prohibition_concerned' : 'prohibition_given',
      spanId: forbid.spanId,
      path: forbid.path,
      note: `says ${quote(forbid.sentence)}`,
      strength: hits > 0 ? Math.min(1, 0.4 + hits / 4) : 0.5,
    }
  }
  const docs = scene.sources.filter(({ kind }) => kind === 'doc')
  const inDocs = docs.flatMap(({ value, path }) =>
    sentencesOf(String(value)).map(sentence => ({ sentence, spanId: null, path })),
  )
  const [forOutput, forCorrection] = backingOf(scene, [...sentences, ...inDocs])
  if (forOutput && !forCorrection)
    yield {
      kind: 'guideline_backs_output',
      spanId: forOutput.spanId,
      path: forOutput.path,
      note: `says ${quote(forOutput.sentence)}, as the output does`,
      strength: 1,
    }
  if (forCorrection && !forOutput)
    yield {
      kind: 'guideline_backs_correction',
      spanId: forCorrection.spanId,
      path: forCorrection.path,
      note: `says ${quote(forCorrection.sentence)}, as the correction does`,
      strength: 1,
    }
  if (forOutput && forCorrection && forOutput !== forCorrection) {
    yield {
      kind: 'guideline_supports_both',
      spanId: forOutput.spanId,
      path: forOutput.path,
      note: `says ${quote(forOutput.sentence)} for the output and ${quote(forCorrection.sentence)} for the correction`,
      strength: 1,
    }
  }
  if (dispute.approved !== undefined) {
    const [written, right] = [new Set(tokensOf(output)), new Set(tokensOf(dispute.approved))]
    const named = forbidding.flatMap(item => {
      const forbidden = UP_TO_NEGATION.test(item.sentence) ? tokensOf(item.sentence.replace(UP_TO_NEGATION, '')) : []
      const word = forbidden.find(token => written.has(token) && !right.has(token))
      return word === undefined ? [] : [{ ...item, word }]
    })
    const [used] = named
    if (used) {
      yield {
        kind: 'forbidden_word_used',
        spanId: used.spanId,
        path: used.path,
        note: `says ${quote(used.sentence)}, and the output has "${used.word}"`,
        strength: Math.min(1, 0.5 + named.length / 4),
      }
    }
  }
  if (guidelines.length === 0)
    yield { kind: 'no_guideline', spanId: origin.spanId, path: 'prompt', note: 'is not known', strength: 1 }
  const vague = sentences.flatMap(({ sentence, ...place }) =>
    [...sentence.matchAll(VAGUE)].map(([word]) => ({ word, sentence, ...place })),
  )
  const [vagueSentence] = vague
  if (vagueSentence)
    yield {
      kind: 'guideline_vague',
      spanId: vagueSentence.spanId,
      path: vagueSentence.path,
      note: `says "${vagueSentence.word}" and draws no line: ${quote(vagueSentence.sentence)}`,
      strength: Math.min(1, 0.5 + vague.length / 6),
    }
  const declining = textsOf(output).find(text => DECLINES.test(text))
  const scoped = sentences.find(({ sentence }) => DRAWS_SCOPE.test(sentence))
  if (scoped)
    yield {
      kind: 'scope_limited',
      spanId: scoped.spanId,
      path: scoped.path,
      note: `draws the scope: ${quote(scoped.sentence)}`,
      strength: 1,
    }
  if (declining !== undefined) {
    const wanted = supportOf(gained ?? NO_TERMS, scene.sources)
    if (!scoped && wanted.weight >= 1 && wanted.found < 0.6) {
      yield {
        kind: 'declined_for_want_of_facts',
        spanId: origin.spanId,
        path: 'output',
        note: `says that it does not know, and "${wanted.missing}" stands nowhere`,
        strength: 1,
      }
    }
    yield {
      kind: 'output_declines',
      spanId: origin.spanId,
      path: 'output',
      note: `declines: ${quote(declining)}`,
      strength: 1,
    }
    if (scoped)
      yield {
        kind: 'declined_out_of_scope',
        spanId: scoped.spanId,
        path: scoped.path,
        note: `leaves no other answer: ${quote(scoped.sentence)}`,
        strength: 1,
      }
  }
  if (prompts.length > 0) {
    const terms = termsOfValue(output)
    const follows = supportOf(terms, prompts)
    if (declining !== undefined && follows.weight >= 2 && follows.found > 0.4) {
      yield {
        kind: 'declines_as_told',
        spanId: origin.spanId,
        path: 'prompt',
        note: 'tells how to decline, in the words of the output',
        strength: Math.min(1, follows.found + 0.3),
      }
    }
    if (follows.weight >= 2 && follows.found > 0.5)
      yield {
        kind: 'output_follows_prompt',
        spanId: origin.spanId,
        path: 'prompt',
        note: 'has most of the words of the output',
        strength: follows.found,
      }
  }
}

interface Sentence extends Omit<Guideline, 'text'> {
  sentence: string
}

/** For the value that was lost, and for the one that was gained, a sentence that gives it to a case like this. */
function backingOf(scene: Scene, sentences: readonly Sentence[]): [Sentence | undefined, Sentence | undefined] {
  const { dispute, visible } = scene
  const changes = (dispute?.difference?.changes ?? []).filter(({ before, after }) => isShort(before) && isShort(after))
  if (!dispute || changes.length === 0) return [undefined, undefined]
  const known = new Set(visible.flatMap(({ terms }) => [...terms.words.keys()]))
  const kept = numbersIn(dispute.approved ?? null).filter(number => numbersIn(dispute.step.output).includes(number))
  const given = visible.filter(({ kind }) => kind === 'input' || kind === 'output')
  const numbers = kept.length > 0 ? kept : given.flatMap(({ value }) => numbersIn(value))
  const find = (side: 'before' | 'after', otherSide: 'before' | 'after') => {
    const values = changes.map(change => plain(String(change[side])))
    const others = changes.map(change => plain(String(change[otherSide])))
    return sentences.find(({ sentence }) => {
      const tokens = plain(sentence).split(/[^\p{L}\p{N}_]+/u)
      if (!values.some(value => tokens.includes(value)) || others.some(value => tokens.includes(value))) return false
      const range = rangeIn(sentence)
      if (range) return numbers.some(number => number >= range.from && number <= range.to)
      const stems = [...termsOf(sentence).words.keys()]
      return stems.some(stem => known.has(stem) && !values.some(value => value.startsWith(stem)))
    })
  }
  return [find('before', 'after'), find('after', 'before')]
}

const isShort = (value: Json | undefined): boolean =>
  value !== undefined && value !== null && typeof value !== 'object' && String(value).length <= 30

/** The numbers that a sentence speaks of, where it sets bounds. */
function rangeIn(sentence: string): { from: number; to: number } | undefined {
  const numberOf = (text: string | undefined) => (text === undefined ? Number.NaN : (numbersOf(text)[0] ?? Number.NaN))
  const [, from, to] = FROM_TO.exec(sentence) ?? []
  if (from && to) return { from: numberOf(from), to: numberOf(to) }
  const above = ABOVE.exec(sentence)
  if (above) return { from: numberOf(above[1] ?? above[2]), to: Number.POSITIVE_INFINITY }
  const below = BELOW.exec(sentence)
  return below ? { from: Number.NEGATIVE_INFINITY, to: numberOf(below[1]) } : undefined
}

/** Words and numbers of a value as they are written, common ones included. */
const tokensOf = (value: Json | undefined): string[] =>
  textsOf(value).flatMap(text => plain(text).match(/[\p{L}\p{N}]+(?:[/._-][\p{L}\p{N}]+)*/gu) ?? [])

const NO_TERMS: Terms = { facts: [], words: new Map() }

interface Guideline {
  text: string
  spanId: string | null
  path: string
}

/** The prompt, and rules that the run was given in state or settings. */
function guidelinesOf({ prompts, visible }: Scene): Guideline[] {
  const given = visible.filter(({ path, kind }) => kind === 'state' && NAMES_RULES.test(path))
  return [...prompts, ...given].map(({ value, step, path }) => ({
    text: textsOf(value).join('\n'),
    spanId: step?.spanId ?? null,
    path,
  }))
}

const textsOf = (value: Json | undefined): string[] =>
  value === undefined || isNothing(value)
    ? []
    : [...leavesOf(value, '')].flatMap(([, leaf]) => (typeof leaf === 'string' ? [leaf] : []))

const sentencesOf = (text: string): string[] =>
  text.split(/(?<=[.!?。！？])\s+|\n+|(?<=[。！？])/u).filter(sentence => /\p{L}/u.test(sentence))

/** Upper limits of length that a text sets. */
function limitsIn(text: string): { text: string; most: number; count: (text: string) => number }[] {
  return sentencesOf(text).flatMap(sentence =>
    AT_LEAST.test(sentence)
      ? []
      : [...sentence.matchAll(LENGTH)].flatMap(([whole, first = '', last, word = '']) => {
          const unit = UNITS.find(candidate => UNITS_OF_LENGTH[candidate].test(word))
          const most = last ? Number(last) : /^\d+$/.test(first) ? numbersOf(first)[0] : NUMBER_WORDS.get(plain(first))
          return unit && most ? [{ text: whole, most, count: COUNTS[unit] }] : []
        }),
  )
}

/** Stems of the names of the fields that were changed. */
const changedFields = ({ dispute }: Scene): string[] =>
  (dispute?.difference?.changes ?? []).flatMap(({ path }) => [
    ...termsOf(path.replace(/[_.[\]\d]+/gu, ' ')).words.keys(),
  ])
