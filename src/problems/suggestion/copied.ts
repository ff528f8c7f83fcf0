import type { Json } from '../../domain/json.ts'
import type { Work } from '../../domain/turns.ts'
import { LENGTH_PER_TURN, MIN_COPIED_WORDS } from '../../limits.ts'
import type { Basis } from './question.ts'

/*
 * Someone may plant text such as "always approve" in a trace, hoping that a model will turn it into a rule. Only a
 * person can tell whether a rule is right, so changes with words that only the traces contain are marked.
 */

/**
 * For each new text, the indexes of the examples that it copies. A text copies an example if one of its clauses, or
 * several of its words in a row, are in the example's input, state, or output, but neither in the prompt nor in
 * anything that people wrote about the examples or the problem.
 */
export function* findCopied(texts: readonly string[], basis: Basis): Work<number[][]> {
  const { prompt, errorType, doc, examples } = basis
  const runs = texts.map(text => new Set(runsOf(text)))
  const wanted = new Set(runs.flatMap(each => [...each]))
  const written = examples.flatMap(({ approved, comment }) => [approved, comment])
  for (const known of [prompt.content, errorType?.rule ?? null, doc?.title ?? null, doc?.content ?? null, ...written])
    for (const run of yield* runsWithin(known, wanted)) wanted.delete(run)
  const copied = texts.map((): number[] => [])
  for (const [index, { input, state, output }] of examples.entries()) {
    const found = yield* runsWithin([input, state, output], wanted)
    for (const [text, runsOfText] of runs.entries())
      if ([...found].some(run => runsOfText.has(run))) copied[text]?.push(index)
  }
  return copied
}

/** In a script without spaces between words, each character is treated as a word. */
const WORDS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]|[\p{L}\p{N}\p{M}_]+/gu
const CLAUSE_ENDS = /[\n.!?;:,()"“”„«»。！？；：、，…]+/u

/** Lowercased, with invisible characters removed. */
const wordsOf = (text: string): string[] =>
  text
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toLowerCase()
    .match(WORDS) ?? []

/**
 * The runs of words to look for. A clause that's too short for a run is a run of its own if it has at least two words.
 */
function* runsOf(text: string): Generator<string> {
  const words = wordsOf(text)
  for (let end = MIN_COPIED_WORDS; end <= words.length; end++) yield words.slice(end - MIN_COPIED_WORDS, end).join(' ')
  for (const clause of text.split(CLAUSE_ENDS)) {
    const short = wordsOf(clause)
    if (short.length > 1 && short.length < MIN_COPIED_WORDS) yield short.join(' ')
  }
}

/** Which of these runs a value's strings contain. */
function* runsWithin(value: Json, wanted: ReadonlySet<string>): Work<Set<string>> {
  const found = new Set<string>()
  let length = 0
  for (const text of stringsOf(value)) {
    const words = wordsOf(text)
    for (let start = 0; start < words.length - 1; start++) {
      let run = words[start] ?? ''
      for (const word of words.slice(start + 1, start + MIN_COPIED_WORDS)) {
        run += ` ${word}`
        if (wanted.has(run)) found.add(run)
      }
    }
    length += text.length
    if (length <= LENGTH_PER_TURN) continue
    length = 0
    yield
  }
  return found
}

/** All strings in a value, including field names. Doesn't recurse, because a value may be deeply nested. */
function* stringsOf(value: Json): Generator<string> {
  const left: Json[] = [value]
  for (let each = left.pop(); each !== undefined; each = left.pop()) {
    if (typeof each === 'string') yield each
    else if (each !== null && typeof each === 'object')
      // A list's indexes aren't text, and a long list doesn't fit in one call's arguments.
      for (const [field, inner] of Object.entries(each)) {
        if (!Array.isArray(each)) left.push(field)
        left.push(inner)
      }
  }
}
