/**
 * Words by which checks read prompts, comments and outputs, one list by language for each meaning. They are patterns, as
 * languages bend their words. Nothing rests on them alone: in a language without words here, the same trace is judged by its
 * other evidence, which numbers, names, fields and times give in any language.
 */
type Words = Readonly<Partial<Record<Language, RegExp>>>

type Language =
  | 'english'
  | 'german'
  | 'french'
  | 'spanish'
  | 'italian'
  | 'dutch'
  | 'polish'
  | 'scandinavian'
  | 'portuguese'
  | 'czech'
  | 'finnish'
  | 'turkish'
  | 'japanese'
  | 'korean'

/** Written without spaces, or with endings on each word: there is no word's end to look for. */
const UNSPACED: ReadonlySet<string> = new Set<Language>(['japanese', 'korean'])

const sourcesOf = (words: Words, isIncluded: (language: string) => boolean): string =>
  Object.entries(words)
    .flatMap(([language, { source }]) => (isIncluded(language) ? [source] : []))
    .join('|')

/** Finds any of the words, wherever it stands, in another word too. */
const anywhere = (words: Words): RegExp =>
  new RegExp(
    sourcesOf(words, () => true),
    'iu',
  )

/** Finds any of the words as a whole word, where words have spaces between them. */
function wholeWords(words: Words): RegExp {
  const spaced = sourcesOf(words, language => !UNSPACED.has(language))
  const unspaced = sourcesOf(words, language => UNSPACED.has(language))
  return new RegExp(unspaced === '' ? `\\b(${spaced})\\b` : `\\b(${spaced})\\b|${unspaced}`, 'iu')
}

/** Words that forbid, or allow nothing else. */
export const FORBIDS = wholeWords({
  english: /never|do not|don't|must not|may not|no|not|without|avoid|only|nothing but|leave out/,
  german: /nie|nicht|kein\w*|ohne|nur|niemals/,
  french: /jamais|ne|pas|sans|aucun\w*|seulement/,
  spanish: /nunca|jamás|sin|solo|sólo|ningún/,
  italian: /mai|non|senza|soltanto/,
  dutch: /nooit|geen|niet|zonder|alleen/,
  polish: /nigdy|bez|tylko/,
  scandinavian: /aldrig|inte|utan|endast|bara/,
  portuguese: /não|sem|apenas|somente/,
  czech: /nikdy|ne\w*|pouze|jen/,
  turkish: /asla|sadece|yalnızca|olmadan/,
  japanese: /ない|禁止|のみ|だけ/,
  korean: /않|마세요|금지|만 /,
})

/** A sentence up to its negation: what it forbids comes after. */
export const UP_TO_NEGATION = new RegExp(
  `^.*?${
    wholeWords({
      english: /never|not|no/,
      german: /nicht|kein\w*|nie/,
      french: /jamais|pas/,
      spanish: /nunca/,
      italian: /non|mai/,
      dutch: /niet|geen|nooit/,
      polish: /nigdy/,
      scandinavian: /inte|aldrig/,
      portuguese: /não/,
      czech: /nikdy/,
    }).source
  }`,
  'iu',
)

/** How a prompt draws the line of what it answers. */
export const DRAWS_SCOPE = anywhere({
  english:
    /out[_ -]of[_ -]scope|anything else|other (topics|questions|requests)|nothing else|not your (job|task)|cannot help|can't help|do not (answer|advise|help)|refer (to|them)|decline|refuse|no (legal|medical|financial|tax)|handle .{0,200} only|only (answer|help|handle|write)/,
  german: /alles andere|andere (themen|fragen)|nicht zuständig/,
  french: /autre(s)? (sujet|demande|question)s?|tout le reste|hors sujet/,
  spanish: /otr[ao]s (temas|preguntas|consultas)|cualquier otr/,
  italian: /altr[oi] (argoment|richiest|domand)/,
  dutch: /andere (onderwerpen|vragen)|al het andere/,
  polish: /inne (tematy|pytania|sprawy)|wszystko inne/,
  scandinavian: /andra (ämnen|frågor)|allt annat/,
  portuguese: /outros (assuntos|temas|pedidos)|qualquer outr/,
  czech: /jin[áéý]\w* (témat|dotaz|požadav)|vše ostatní/,
  turkish: /diğer (konular|sorular)/,
  japanese: /以外|対象外|その他/,
  korean: /외의|이외|범위/,
})

/** How an output says that it gives no answer. */
export const DECLINES = anywhere({
  english:
    /out[_ -]of[_ -]scope|not[_ -]supported|unsupported|declined|refused|rejected|cannot|can't|can not|unable|not able|do(es)? not (cover|handle)|only (help|answer)/,
  german: /kann .{0,60}nicht|können .{0,60}nicht|keine auskunft|nicht möglich/,
  french: /ne (peux|pouvons|peut|puis)/,
  spanish: /no (puedo|podemos|es posible)/,
  italian: /non (posso|possiamo|è possibile)/,
  dutch: /kan .{0,40}niet|niet mogelijk/,
  polish: /nie (mogę|możemy|można)/,
  scandinavian: /kan .{0,40}inte/,
  portuguese: /não (posso|podemos|consigo|é possível)/,
  czech: /nemohu|nemůž\w*/,
  turkish: /(yapa|ede|ola|vere)m[ıi]yor|(yapama|edeme|vereme)[myz]/,
  japanese: /できません|できかね|対応し/,
  korean: /없습니다|어렵습니다|불가/,
})

/** Words of degree, which readers of a guideline understand each in their own way. */
export const VAGUE = new RegExp(
  wholeWords({
    english:
      /reasonabl\w*|appropriate\w*|suitabl\w*|adequate\w*|significant\w*|substantial\w*|considerabl\w*|relevant|important|notable|serious|severe|minor|major|mild|strong|long|short|large|small|high|low|soon|recent|usual\w*|normal\w*|sensibl\w*|proper\w*|fair\w*|generous|excessive|unusual|good|clear cases?|where possible|if needed|if necessary|as needed|in moderation/,
    german:
      /angemessen\w*|erheblich\w*|wesentlich\w*|übliche?\w*|geeignet\w*|sinnvoll\w*|größer\w*|groß\w*|klein\w*|lang\w*|kurz\w*|zeitnah|ggf|wichtig\w*/,
    french: /raisonnabl\w*|appropri\w*|convenabl\w*|importan\w*|notabl\w*|grave\w*|récent\w*|long\w*/,
    spanish: /razonabl\w*|adecuad\w*|apropiad\w*|significativ\w*|notori\w*|leve\w*|grande\w*/,
    italian: /ragionevol\w*|adeguat\w*|rilevant\w*|congru\w*|lieve/,
    dutch: /redelijk\w*|passend\w*|aanzienlijk\w*|grote?/,
    polish: /rozsądn\w*|odpowiedni\w*|istotn\w*|znaczn\w*|duż\w*/,
    scandinavian: /skälig\w*|lämplig\w*|rimlig\w*|väsentlig\w*|stora/,
    portuguese: /razoáve\w*|adequad\w*|relevante\w*/,
    czech: /přiměřen\w*|vhodn\w*|výrazn\w*|závažn\w*/,
    turkish: /makul|uygun|önemli|ciddi|büyük/,
    japanese: /適切|適度|相当|著しい|重要|妥当|適宜|大きな/,
    korean: /적절|상당|합리|중요|심각/,
  }),
  'giu',
)

/** Keys of a state that holds rules for the run. */
export const NAMES_RULES = anywhere({
  english: /guid|rule|polic|instruct|style/,
  german: /regel/,
  french: /consign|règle/,
  spanish: /norma/,
  italian: /regol/,
  polish: /zasad/,
  dutch: /richtlin/,
  scandinavian: /styl/,
  portuguese: /polit/,
  turkish: /kural/,
  czech: /pravid/,
  japanese: /指示|規則/,
  korean: /규칙|지침/,
})

/** Names of steps and states that fetch from a knowledge base. */
export const NAMES_RETRIEVAL = anywhere({
  english:
    /retriev|search|fetch|find|lookup|chunk|passage|document|context|knowledge|article|pages|hits|(?<![a-z])(kb|rag)(?![a-z])/,
  german: /such|seiten/,
  spanish: /buscar/,
  french: /recherch/,
  italian: /cerca/,
  dutch: /zoek/,
  polish: /szukaj/,
  czech: /hled/,
  scandinavian: /(?<![a-z])s[oö]k/,
  turkish: /(?<![a-z])ara(?![a-z])/,
  finnish: /haku/,
})

/** What lengths are counted in: each a word on its own. */
export const UNITS_OF_LENGTH = {
  words:
    /^(words?|wörter\w*|worten?|mots?|palabras?|parole|woorden|sł[oó]w\w*|palavras?|ord|slov\w*|kelime\w*|語|단어)$/iu,
  characters: /^(characters?|chars?|zeichen|caract\w*|caratteri|tekens|znak\w*|tecken|karakter\w*|文字|字|자)$/iu,
  sentences:
    /^(sentences?|s[aä]tze?\w*|phrases?|oracion\w*|frases?|frasi|zin\w*|zda\w*|meningar?|vět\w*|cümle\w*|文|문장)$/iu,
  lines:
    /^(lines?|bullets?|items?|points?|zeilen?|lignes?|líneas?|righe|regels|wiersz\w*|rader|linhas?|řádk\w*|satır\w*|行|줄)$/iu,
} as const

/** A count and its unit: `40 words`, `drei Sätze`, `200文字`. Groups: the number or word for it, an upper number, the unit. */
export const LENGTH =
  /((?<!\d)\d+|\p{L}+|[一二三])\s*(?:[-–]\s*(\d+)\s*)?(?:\p{L}+\s+)?(\p{L}+|文字|字|文|行|語|자|문장|단어|줄)/gu

/** Small numbers by their words, without case and accents. */
export const NUMBER_WORDS: ReadonlyMap<string, number> = new Map(
  [
    'one ein eine einem einen un une uno una een jeden jedno jednym en ett um uma jedna jedne bir 一',
    'two zwei deux dos due twee dwa dwie dwoch två tva dois duas dva dve iki 二',
    'three drei trois tres tre drie trzy trzech tri uc 三',
    'four vier quatre cuatro quattro cztery fyra quatro ctyri dort',
    'five funf cinq cinco cinque vijf piec fem pet bes',
  ].flatMap((words, index) => words.split(' ').map(word => [word, index + 1] as const)),
)

/** Before a length that is none to stay below. */
export const AT_LEAST = anywhere({
  english: /at least|minimum|no fewer/,
  german: /mindestens/,
  french: /au moins/,
  spanish: /al menos|como mínimo/,
  italian: /almeno/,
  dutch: /minstens/,
  polish: /co najmniej/,
  scandinavian: /minst/,
  portuguese: /pelo menos|no mínimo/,
  czech: /alespoň/,
  turkish: /en az/,
  japanese: /以上/,
  korean: /최소|이상/,
})

/** `10 to 20`. Groups: the two ends. */
export const FROM_TO =
  /(?<!\d)(\d+(?:[.,]\d+)?)\s*(?:to|-|–|bis|à|a|až|do|tot|til|till|から|~|〜)\s*(\d+(?:[.,]\d+)?)/iu
/** `over 10`, `10 and more`. Groups: the number, in the first form or the second. */
export const ABOVE =
  /(?:above|over|more than|at least|from|exceed\w*|>=?|≥|über|mehr als|ab|mindestens|plus de|au moins|más de|desde|oltre|più di|almeno|meer dan|vanaf|boven|powyżej|ponad|od|över|mer än|acima de|mais de|nad|více než)\s*(\d+(?:[.,]\d+)?)|(?<!\d)(\d+(?:[.,]\d+)?)\s*(?:and|or|und|oder|et|ou|y|o|e|en|of|i|lub|och|eller|a|nebo|ve)\s+(?:more|above|over|mehr|darüber|plus|más|più|meer|więcej|mer|mais|více|üstü)/iu
/** `up to 10`. Group: the number. */
export const BELOW =
  /(?:below|under|less than|fewer than|up to|at most|<=?|≤|unter|weniger als|höchstens|bis zu|moins de|menos de|hasta|sotto|meno di|fino a|onder|minder dan|poniżej|mniej niż|mindre än|abaixo de|pod|méně než)\s*(\d+(?:[.,]\d+)?)/iu

/** Before or behind a date on which something ends. */
export const UNTIL = anywhere({
  english: /until|valid (to|through|till)|expires?|expired/,
  german: /bis (zum)?|gültig|befristet/,
  french: /jusqu|valable/,
  spanish: /hasta|vigente|válid|vence/,
  italian: /fino al|scade|entro/,
  dutch: /tot( en met)?|geldig/,
  polish: /do dnia|ważn|obowiązuje/,
  scandinavian: /till och med|t\.o\.m|gäller/,
  portuguese: /até|validade/,
  czech: /platn|do \d/,
  turkish: /kadar|geçerli/,
  japanese: /まで|有効/,
  korean: /까지|유효/,
})

/** How people say that something is no longer as it was. */
export const TELLS_CHANGE = wholeWords({
  english:
    /since|as of|no longer|any ?more|not any|used to|replaced|renamed|discontinued|withdrawn|merged|moved|raised|increased|changed|new|old|outdated|stale|expired|last (year|month|spring|summer|autumn|winter)|by now|now|meanwhile|left|gone|closed/,
  german: /seit|nicht mehr|inzwischen|neu\w*|alt\w*|geändert|erhöht|abgelöst|gestrichen|veraltet|mittlerweile/,
  french: /depuis|plus (de|en)|désormais|nouve\w*|ancien\w*|remplacé\w*|chang\w*|supprim\w*/,
  spanish: /desde|ya no|ahora|nuev\w*|antigu\w*|cambi\w*|sustitu\w*/,
  italian: /dal|da (gennaio|marzo)|non più|ora|nuov\w*|vecchi\w*|sostitu\w*/,
  dutch: /sinds|niet meer|inmiddels|nieuwe?|oude?|gewijzigd|vervangen/,
  polish: /od|już nie|teraz|now[aey]\w*|star[aey]\w*|zmieni\w*/,
  scandinavian: /sedan|inte längre|numera|nytt?|nya|gaml\w*|ändrad\w*|höj\w*/,
  portuguese: /já não|não (é|há) mais|agora|novo|nova|antig\w*|mudou|alterad\w*/,
  czech: /už (ne\w*)?|nyní|nov\w*|změn\w*/,
  turkish: /artık|yeni|eski|değiş\w*|beri/,
  japanese: /から|もう|新し|旧|変更|改定|廃止/,
  korean: /부터|이제|새로|변경|더 이상/,
})

/** How people say that they meant something else by the same words. */
export const TELLS_INTENT = wholeWords({
  english: /meant|was after|had in mind|was thinking|intended|wanted/,
  german: /gemeint|meinte|wollte/,
  french: /pensais|pensait|voulais|voulait/,
  spanish: /quería|queria|refería|pensaba/,
  italian: /intendev\w*|volev\w*/,
  dutch: /bedoel\w*|wilde/,
  polish: /chodziło|miał\w* na myśli/,
  scandinavian: /menade|avsåg|ville|mente|mentes|tænkte|tenkte/,
  portuguese: /quis/,
  czech: /myslel\w*|chtěl\w*/,
  turkish: /kast\w*|demek ist\w*|istemişt\w*/,
  japanese: /つもり|意味/,
  korean: /말한|말씀|뜻/,
})

/** Words whose meaning depends on the speaker, the day, or a scale. */
export const RELATIVE = wholeWords({
  english: /next|last|past|coming|recent|usual|best|top|biggest|nearest/,
  german: /nächst\w*|letzt\w*|kommend\w*|vorig\w*|beste\w*|üblich\w*/,
  french: /prochain\w*|derni[eè]r\w*|meilleur\w*/,
  spanish: /próxim\w*|últim\w*|mejor\w*/,
  italian: /prossim\w*|scors\w*|ultim\w*|miglior\w*/,
  dutch: /volgende?|vorige?|afgelopen/,
  polish: /następn\w*|ostatni\w*|ubiegł\w*|najlepsz\w*/,
  scandinavian: /nästa|senaste|förra|bästa|næste|sidste|neste|siste/,
  portuguese: /seguinte|passad[oa]s?|melhor\w*/,
  czech: /příští\w*|minul\w*|posledn\w*|nejlepší\w*/,
  turkish: /gelecek|önceki|geçen|en iyi/,
  japanese: /来週|先週|次の|今度|最近|先月|来月/,
  korean: /다음|지난|이번|최근/,
})

/** How a run tells that it got over a failure. */
export const TELLS_RECOVERY = anywhere({
  english: /recovered|succe|answered|then ok|passed|got through|resent|retried|\b20[0-4]\b|again/,
  german: /erneut|erfolg/,
  french: /réussi/,
  spanish: /éxito/,
  italian: /riuscit/,
  dutch: /gelukt/,
  polish: /udan|powodz/,
  scandinavian: /lyckad/,
  portuguese: /sucesso/,
  czech: /úspěš/,
  turkish: /başar/,
  japanese: /成功/,
  korean: /성공/,
})

/** Yes and no, without case and accents. */
export const YES_OR_NO: ReadonlyMap<string, boolean> = new Map([
  ...'true yes y ja oui si sim tak ano evet'.split(' ').map(word => [word, true] as const),
  ...'false no n nein non nao nie ne hayir nee nej'.split(' ').map(word => [word, false] as const),
])

/** What parts the items of a list within a sentence: a comma, or a word for "and". */
export const BETWEEN_ITEMS = /,\s|\s(?:and|und|et|y|e|en|i|och|og|a|ve)\s/u
