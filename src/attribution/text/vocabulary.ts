import words from './vocabulary.json' with { type: 'json' }

/**
 * Words that checks look for in prompts, comments, and outputs, by language. Each list is a regular expression, because
 * words inflect. Nothing depends on words alone: a trace in a language without lists is judged by its other evidence,
 * such as numbers, names, fields, and times.
 */
type Words = Readonly<Record<string, string>>

/** Languages without spaces between words or with endings on most words. Their words match without word boundaries. */
const UNSPACED: ReadonlySet<string> = new Set(['japanese', 'korean'])

const sourcesOf = (words: Words, isIncluded: (language: string) => boolean): string =>
  Object.entries(words)
    .flatMap(([language, source]) => (isIncluded(language) ? [source] : []))
    .join('|')

/** Matches any of the words, even inside another word. */
const anywhere = (words: Words): RegExp =>
  new RegExp(
    sourcesOf(words, () => true),
    'iu',
  )

/** Matches any of the words, as a whole word in languages with spaces. */
function wholeWords(words: Words): RegExp {
  const spaced = sourcesOf(words, language => !UNSPACED.has(language))
  const unspaced = sourcesOf(words, language => UNSPACED.has(language))
  return new RegExp(unspaced === '' ? `\\b(${spaced})\\b` : `\\b(${spaced})\\b|${unspaced}`, 'iu')
}

/** Words that forbid something or restrict the output to something. */
export const PROHIBITION = wholeWords(words.prohibition)

/** The part of a sentence up to and including its negation. The rest is what the sentence forbids. */
export const UP_TO_NEGATION = new RegExp(`^.*?${wholeWords(words.upToNegation).source}`, 'iu')

/** Phrases that prompts use to limit their scope. */
export const SCOPE_LIMIT = anywhere(words.scopeLimit)

/** Phrases that outputs use to decline an answer. */
export const REFUSAL = anywhere(words.refusal)

/** Words of degree, which people interpret differently. */
export const VAGUE = new RegExp(wholeWords(words.vague), 'giu')

/** State keys that hold rules for the run. */
export const RULE_NAMES = anywhere(words.ruleNames)

/** Names of steps and state keys for content from a knowledge base. */
export const RETRIEVAL_NAMES = anywhere(words.retrievalNames)

/** A pattern for each unit of length. */
export const UNITS_OF_LENGTH = {
  words:
    /^(words?|wörter\w*|worten?|mots?|palabras?|parole|woorden|sł[oó]w\w*|palavras?|ord|slov\w*|kelime\w*|語|단어)$/iu,
  characters: /^(characters?|chars?|zeichen|caract\w*|caratteri|tekens|znak\w*|tecken|karakter\w*|文字|字|자)$/iu,
  sentences:
    /^(sentences?|s[aä]tze?\w*|phrases?|oracion\w*|frases?|frasi|zin\w*|zda\w*|meningar?|vět\w*|cümle\w*|文|문장)$/iu,
  lines:
    /^(lines?|bullets?|items?|points?|zeilen?|lignes?|líneas?|righe|regels|wiersz\w*|rader|linhas?|řádk\w*|satır\w*|行|줄)$/iu,
} as const

/**
 * A count with its unit: `40 words`, `drei Sätze`, `200文字`. Groups: the number or number word, an upper number, the
 * unit.
 */
export const LENGTH =
  /((?<!\d)\d+|\p{L}+|[一二三])\s*(?:[-–]\s*(\d+)\s*)?(?:\p{L}+\s+)?(\p{L}+|文字|字|文|行|語|자|문장|단어|줄)/gu

/** Number words up to ten or so and their values, lowercase and without accents. */
export const NUMBER_WORDS: ReadonlyMap<string, number> = new Map(
  words.numbers.flatMap((synonyms, index) => synonyms.split(' ').map(word => [word, index + 1] as const)),
)

/** Phrases before a length that make it a minimum. */
export const AT_LEAST = anywhere(words.atLeast)

/** `10 to 20`. Groups: the two ends. */
export const FROM_TO =
  /(?<!\d)(\d+(?:[.,]\d+)?)\s*(?:to|-|–|bis|à|a|až|do|tot|til|till|から|~|〜)\s*(\d+(?:[.,]\d+)?)/iu
/** `over 10`, `10 and more`. Groups: the number, in the first form or the second. */
export const ABOVE =
  /(?:above|over|more than|at least|from|exceed\w*|>=?|≥|über|mehr als|ab|mindestens|plus de|au moins|más de|desde|oltre|più di|almeno|meer dan|vanaf|boven|powyżej|ponad|od|över|mer än|acima de|mais de|nad|více než)\s*(\d+(?:[.,]\d+)?)|(?<!\d)(\d+(?:[.,]\d+)?)\s*(?:and|or|und|oder|et|ou|y|o|e|en|of|i|lub|och|eller|a|nebo|ve)\s+(?:more|above|over|mehr|darüber|plus|más|più|meer|więcej|mer|mais|více|üstü)/iu
/** `up to 10`. Group: the number. */
export const BELOW =
  /(?:below|under|less than|fewer than|up to|at most|<=?|≤|unter|weniger als|höchstens|bis zu|moins de|menos de|hasta|sotto|meno di|fino a|onder|minder dan|poniżej|mniej niż|mindre än|abaixo de|pod|méně než)\s*(\d+(?:[.,]\d+)?)/iu

/** Words before or after the date when something ends. */
export const UNTIL = anywhere(words.until)

/** Phrases that say something has changed. */
export const CHANGE = wholeWords(words.change)

/** Phrases that say the user meant something else by the same words. */
export const INTENT = wholeWords(words.intent)

/** Words whose meaning depends on the speaker, the date, or a scale. */
export const RELATIVE = wholeWords(words.relative)

/** Phrases that say a run recovered from a failure. */
export const RECOVERY = anywhere(words.recovery)

/** Words for yes and no, lowercase and without accents. */
export const YES_OR_NO: ReadonlyMap<string, boolean> = new Map([
  ...'true yes y ja oui si sim tak ano evet'.split(' ').map(word => [word, true] as const),
  ...'false no n nein non nao nie ne hayir nee nej'.split(' ').map(word => [word, false] as const),
])

/** Separators between the items of a list in a sentence: a comma or a word for "and". */
export const BETWEEN_ITEMS = /,\s|\s(?:and|und|et|y|e|en|i|och|og|a|ve)\s/u
