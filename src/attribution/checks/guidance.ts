import type { Json } from '../../domain/json.ts'
import { numbersIn } from '../arithmetic.ts'
import { isNothing } from '../difference.ts'
import type { Finding } from '../evidence.ts'
import type { Scene } from '../scene.ts'
import { leavesOf, quote, supportOf } from '../sources.ts'
import { numbersOf, plain, type Terms, termsOf, termsOfValue } from '../terms.ts'

/** Words that forbid, or allow nothing else, in the languages that prompts are mostly written in. */
const FORBIDS =
  /\b(never|do not|don't|must not|may not|no|not|without|avoid|only|nothing but|leave out|nie|nicht|kein\w*|ohne|nur|niemals|jamais|ne|pas|sans|aucun\w*|seulement|nunca|jamás|sin|solo|sólo|ningún|mai|non|senza|soltanto|nooit|geen|niet|zonder|alleen|nigdy|bez|tylko|aldrig|inte|utan|endast|bara|não|sem|apenas|somente|nikdy|ne\w*|pouze|jen|asla|sadece|yalnızca|olmadan)\b|ない|禁止|のみ|だけ|않|마세요|금지|만 /iu
const SCOPE =
  /out[_ -]of[_ -]scope|anything else|other (topics|questions|requests)|nothing else|not your (job|task)|cannot help|can't help|do not (answer|advise|help)|refer (to|them)|decline|refuse|no (legal|medical|financial|tax)|handle .* only|only (answer|help|handle|write)|alles andere|andere (themen|fragen)|nicht zuständig|autre(s)? (sujet|demande|question)s?|tout le reste|hors sujet|otr[ao]s (temas|preguntas|consultas)|cualquier otr|altr[oi] (argoment|richiest|domand)|andere (onderwerpen|vragen)|al het andere|inne (tematy|pytania|sprawy)|wszystko inne|andra (ämnen|frågor)|allt annat|outros (assuntos|temas|pedidos)|qualquer outr|jin[áéý]\w* (témat|dotaz|požadav)|vše ostatní|diğer (konular|sorular)|以外|対象外|その他|외의|이외|범위/iu
const DECLINES =
  /out[_ -]of[_ -]scope|not[_ -]supported|unsupported|declined|refused|rejected|cannot|can't|can not|unable|not able|do(es)? not (cover|handle)|only (help|answer)|kann .{0,60}nicht|können .{0,60}nicht|keine auskunft|nicht möglich|ne (peux|pouvons|peut|puis)|no (puedo|podemos|es posible)|non (posso|possiamo|è possibile)|kan .{0,40}niet|niet mogelijk|nie (mogę|możemy|można)|kan .{0,40}inte|não (posso|podemos|consigo|é possível)|nemohu|nemůž\w*|yapam|edem|olam[ıi]yor|veremi|できません|できかね|対応し|없습니다|어렵습니다|불가/iu
const VAGUE =
  /\b(reasonabl\w*|appropriate\w*|suitabl\w*|adequate\w*|significant\w*|substantial\w*|considerabl\w*|relevant|important|notable|serious|severe|minor|major|mild|strong|long|short|large|small|high|low|soon|recent|usual\w*|normal\w*|sensibl\w*|proper\w*|fair\w*|generous|excessive|unusual|good|clear cases?|where possible|if needed|if necessary|as needed|in moderation|angemessen\w*|erheblich\w*|wesentlich\w*|übliche?\w*|geeignet\w*|sinnvoll\w*|größer\w*|groß\w*|klein\w*|lang\w*|kurz\w*|zeitnah|ggf|wichtig\w*|raisonnabl\w*|appropri\w*|convenabl\w*|importan\w*|notabl\w*|grave\w*|récent\w*|long\w*|razonabl\w*|adecuad\w*|apropiad\w*|significativ\w*|notori\w*|leve\w*|grande\w*|ragionevol\w*|adeguat\w*|rilevant\w*|congru\w*|lieve|redelijk\w*|passend\w*|aanzienlijk\w*|grote?|rozsądn\w*|odpowiedni\w*|istotn\w*|znaczn\w*|duż\w*|skälig\w*|lämplig\w*|rimlig\w*|väsentlig\w*|stora|razoáve\w*|adequad\w*|relevante\w*|přiměřen\w*|vhodn\w*|výrazn\w*|závažn\w*|makul|uygun|önemli|ciddi|büyük)\b|適切|適度|相当|著しい|重要|妥当|適宜|大きな|적절|상당|합리|중요|심각/giu

/** What lengths are counted in, by words of several languages. */
const UNITS: readonly { unit: RegExp; count: (text: string) => number }[] = [
  {
    unit: /^(words?|wörter\w*|worten?|mots?|palabras?|parole|woorden|sł[oó]w\w*|palavras?|ord|slov\w*|kelime\w*|語|단어)$/iu,
    count: text => text.trim().split(/\s+/u).length,
  },
  {
    unit: /^(characters?|chars?|zeichen|caract\w*|caratteri|tekens|znak\w*|tecken|karakter\w*|文字|字|자)$/iu,
    count: text => [...text].length,
  },
  {
    unit: /^(sentences?|s[aä]tze?\w*|phrases?|oracion\w*|frases?|frasi|zin\w*|zda\w*|meningar?|vět\w*|cümle\w*|文|문장)$/iu,
    count: text => text.split(/[.!?。！？]+(?:\s|$)/u).filter(part => /\p{L}/u.test(part)).length,
  },
  {
    unit: /^(lines?|bullets?|items?|points?|zeilen?|lignes?|líneas?|righe|regels|wiersz\w*|rader|linhas?|řádk\w*|satır\w*|行|줄)$/iu,
    count: text => text.split('\n').filter(line => line.trim() !== '').length,
  },
]
const NUMBER_WORDS = new Map(
  [
    [
      'one',
      'ein',
      'eine',
      'einem',
      'einen',
      'un',
      'une',
      'uno',
      'una',
      'een',
      'jeden',
      'jedno',
      'jednym',
      'en',
      'ett',
      'um',
      'uma',
      'jedna',
      'jedne',
      'bir',
      '一',
    ],
    [
      'two',
      'zwei',
      'deux',
      'dos',
      'due',
      'twee',
      'dwa',
      'dwie',
      'dwoch',
      'två',
      'tva',
      'dois',
      'duas',
      'dva',
      'dve',
      'iki',
      '二',
    ],
    ['three', 'drei', 'trois', 'tres', 'tre', 'drie', 'trzy', 'trzech', 'tri', 'uc', '三'],
    ['four', 'vier', 'quatre', 'cuatro', 'quattro', 'cztery', 'fyra', 'quatro', 'ctyri', 'dort'],
    ['five', 'funf', 'cinq', 'cinco', 'cinque', 'vijf', 'piec', 'fem', 'pet', 'bes'],
  ].flatMap((words, index) => words.map(word => [word, index + 1] as const)),
)
const AT_LEAST =
  /at least|minimum|no fewer|mindestens|au moins|al menos|como mínimo|almeno|minstens|co najmniej|minst|pelo menos|no mínimo|alespoň|en az|以上|최소|이상/iu
const LIMIT = /(\d+|\p{L}+|[一二三])\s*(?:[-–]\s*(\d+)\s*)?(?:\p{L}+\s+)?(\p{L}+|文字|字|文|行|語|자|문장|단어|줄)/gu

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
      const forbidden = NEGATION.test(item.sentence) ? tokensOf(item.sentence.replace(NEGATION, '')) : []
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
  const scoped = sentences.find(({ sentence }) => SCOPE.test(sentence))
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

const RANGE = /(\d+(?:[.,]\d+)?)\s*(?:to|-|–|bis|à|a|až|do|tot|til|till|から|~|〜)\s*(\d+(?:[.,]\d+)?)/iu
const ABOVE =
  /(?:above|over|more than|at least|from|exceed\w*|>=?|≥|über|mehr als|ab|mindestens|plus de|au moins|más de|desde|oltre|più di|almeno|meer dan|vanaf|boven|powyżej|ponad|od|över|mer än|acima de|mais de|nad|více než)\s*(\d+(?:[.,]\d+)?)|(\d+(?:[.,]\d+)?)\s*(?:and|or|und|oder|et|ou|y|o|e|en|of|i|lub|och|eller|a|nebo|ve)\s+(?:more|above|over|mehr|darüber|plus|más|più|meer|więcej|mer|mais|více|üstü)/iu
const BELOW =
  /(?:below|under|less than|fewer than|up to|at most|<=?|≤|unter|weniger als|höchstens|bis zu|moins de|menos de|hasta|sotto|meno di|fino a|onder|minder dan|poniżej|mniej niż|mindre än|abaixo de|pod|méně než)\s*(\d+(?:[.,]\d+)?)/iu

/** The numbers that a sentence speaks of, where it sets bounds. */
function rangeIn(sentence: string): { from: number; to: number } | undefined {
  const numberOf = (text: string | undefined) => (text === undefined ? Number.NaN : (numbersOf(text)[0] ?? Number.NaN))
  const [, from, to] = RANGE.exec(sentence) ?? []
  if (from && to) return { from: numberOf(from), to: numberOf(to) }
  const above = ABOVE.exec(sentence)
  if (above) return { from: numberOf(above[1] ?? above[2]), to: Number.POSITIVE_INFINITY }
  const below = BELOW.exec(sentence)
  return below ? { from: Number.NEGATIVE_INFINITY, to: numberOf(below[1]) } : undefined
}

/** Words and numbers of a value as they are written, common ones included. */
const tokensOf = (value: Json | undefined): string[] =>
  textsOf(value).flatMap(text => plain(text).match(/[\p{L}\p{N}]+(?:[/._-][\p{L}\p{N}]+)*/gu) ?? [])

/** What a sentence forbids: the words after its negation. */
const NEGATION =
  /^.*?\b(never|not|no|nicht|kein\w*|nie|jamais|pas|nunca|non|mai|niet|geen|nooit|nigdy|inte|aldrig|não|nikdy)\b/iu

const NO_TERMS: Terms = { facts: [], words: new Map() }

interface Guideline {
  text: string
  spanId: string | null
  path: string
}

/** The prompt, and rules that the run was given in state or settings. */
function guidelinesOf({ prompts, visible }: Scene): Guideline[] {
  const given = visible.filter(
    ({ path, kind }) =>
      kind === 'state' &&
      /guid|rule|polic|instruct|style|regel|consign|règle|norma|regol|zasad|richtlin|styl|polit|kural|pravid|指示|規則|규칙|지침/iu.test(
        path,
      ),
  )
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
      : [...sentence.matchAll(LIMIT)].flatMap(([whole, first = '', last, word = '']) => {
          const unit = UNITS.find(candidate => candidate.unit.test(word))
          const most = last ? Number(last) : /^\d+$/.test(first) ? numbersOf(first)[0] : NUMBER_WORDS.get(plain(first))
          return unit && most ? [{ text: whole, most, count: unit.count }] : []
        }),
  )
}

/** Stems of the names of the fields that were changed. */
const changedFields = ({ dispute }: Scene): string[] =>
  (dispute?.difference?.changes ?? []).flatMap(({ path }) => [
    ...termsOf(path.replace(/[_.[\]\d]+/gu, ' ')).words.keys(),
  ])
