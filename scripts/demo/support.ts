import type { Json, JsonObject } from '../../src/domain/json.ts'
import { itemAt, type Random, seededRandom } from './random.ts'
import { FALLBACK_WORDS, SEQUELS, SEQUELS_OF_FLAW, SEQUELS_WITHOUT_FACTS } from './review-words.ts'
import { type Passage, SUPPORT_CASES, type SupportCase } from './support-cases.ts'
import { AROUND, HANDBOOK, type HandbookDoc, type Language, PRODUCTS, type Topic } from './support-handbook.ts'
import { GENERATE_ANSWER, REWRITE_QUERY } from './support-prompts.ts'
import {
  approval,
  type DemoTrace,
  ERROR_TYPE_OF_FLAW,
  endingAt,
  isoTime,
  type Mistake,
  type Step,
  stepsUntil,
  workingTimes,
} from './trace.ts'
import { mistakesIn } from './truth.ts'
import { fill, slotNames, slotsOf, versionAt } from './versions.ts'

/** A support run, with the facts that a correct answer and a correct chunk must contain verbatim. */
export interface SupportTrace extends DemoTrace {
  facts: string[]
  /** Words in the answer that no doc supports. */
  wrong?: string | undefined
}

const PIPELINE = 'support-answer'
const COUNT = 150
const SUNDAY = 0
const CHUNKS = 3

/**
 * The runs with a flawed case: four in ten until shortly before version 3 of the answer's prompt, and one in 25 after
 * that, which shows that the version helped.
 */
const FLAWED_RUNS = Array.from({ length: COUNT }, (_, index) => index).filter(index =>
  index < 67 ? [0, 2, 5, 8].includes(index % 10) : index % 25 === 9,
)

const supportCaseAt = (index: number): SupportCase | undefined => SUPPORT_CASES[FLAWED_RUNS.indexOf(index)]

/** The runs of the support pipeline, oldest first. */
export function supportTraces(): SupportTrace[] {
  const random = seededRandom('support')
  const sizes = conversationSizes(random)
  const startTimes = workingTimes(sizes.length, [SUNDAY], random)
  const topics = HANDBOOK.flatMap(doc => doc.topics)
  const subjectOf = ({ doc, language }: Topic) => (language === 'en' ? doc : language)
  const subjects = random.shuffle([...Map.groupBy(topics, subjectOf).values()])
  const turns = sizes.flatMap((size, conversation) => {
    const subject = itemAt(subjects, conversation)
    const round = Math.floor(conversation / subjects.length)
    const customer = newCustomer(random)
    return Array.from({ length: size }, (_, turn) => ({
      customer,
      isFollowUp: turn > 0,
      startedAt: (startTimes[conversation] ?? 0) + turn * 240_000 + random.whole(0, 99_999),
      topic: itemAt(subject, round * 2 + turn),
      phrasing: Math.floor((round * 2 + turn) / subject.length),
    }))
  })
  return turns.map((turn, index) => supportTrace(index, turn))
}

/** The number of runs in each conversation: one to three. A flawed run is its own conversation. */
function conversationSizes(random: Random): number[] {
  const sizes: number[] = []
  for (let index = 0; index < COUNT; index += sizes.at(-1) ?? 1) {
    const wanted = supportCaseAt(index) ? 1 : random.pick([1, 1, 1, 1, 2, 2, 3])
    const run = Array.from({ length: wanted }, (_, turn) => index + turn)
    const free = run.slice(1).findIndex(each => each >= COUNT || supportCaseAt(each) !== undefined)
    sizes.push(free === -1 ? wanted : free + 1)
  }
  return sizes
}

const newCustomer = (random: Random) => ({
  group_id: `conversation-${random.digits(6)}`,
  channel: random.pick(['chat', 'chat', 'email', 'app']),
  customer: { tier: random.pick(['standard', 'standard', 'standard', 'gold']), id: `C-${random.digits(5)}` },
  orderNumber: `LF-${random.digits(6)}`,
  product: random.pick(PRODUCTS),
})

interface Turn {
  customer: ReturnType<typeof newCustomer>
  isFollowUp: boolean
  startedAt: number
  topic: Topic
  phrasing: number
}

/** The content of a run, with or without a mistake. */
interface Exchange extends Omit<SupportCase, 'flaw' | 'language' | 'sources' | 'mistake' | 'objection'> {
  flaw: SupportCase['flaw'] | null
  language: Language
  sources: string[]
}

function supportTrace(index: number, turn: Turn): SupportTrace {
  const key = `support/${index}`
  const random = seededRandom(key)
  const { startedAt } = turn
  const { group_id, channel, customer, orderNumber } = turn.customer
  const supportCase = supportCaseAt(index)
  const exchange = supportCase ? exchangeOfCase(supportCase) : exchangeOfTopic(turn, random)
  const { language, question, rightPassage } = exchange
  const chunks = retrieve(exchange, startedAt, random)
  const ending = endingAt(index)
  const result = { answer: exchange.answer, sources: exchange.sources }
  const sound = stepsOf(exchange, { startedAt, chunks, result, random })
  const mistakes = supportCase ? mistakesOfCase(supportCase, exchange, { key, startedAt, steps: sound }) : NO_MISTAKES
  const objection = supportCase?.objection && {
    ...supportCase.objection,
    approvedOutput: { ...result, ...supportCase.opinion?.correction },
    errorType: ERROR_TYPE_OF_FLAW[supportCase.flaw],
  }
  const judged = sound.map(step => ({
    ...step,
    mistake: mistakes.get(step.stepId),
    ...(step.stepId === 'generate-answer' && { objection }),
  }))
  const steps = stepsUntil(ending, judged, random.pick(FAILURES))
  const output = { completed: result, running: undefined, failed: FALLBACK }[ending]
  return {
    key,
    project: 'support',
    name: PIPELINE,
    startedAt,
    metadata: { group_id, channel, language, customer },
    input: { question },
    state: {
      config: { model: 'assistant-small-2', temperature: 0, top_k: CHUNKS, index: 'handbook' },
      guidelines: ['Rely only on the handbook', 'List the docs that you used', 'At most three sentences'],
      customer_orders: [
        {
          number: exchange.orderNumber ?? orderNumber,
          placed: isoTime(startedAt - DAY_MS * random.whole(1, 40)).slice(0, 10),
        },
      ],
    },
    steps,
    ...(output && { output }),
    mistake: ending === 'failed' ? fallbackMistake(result, index) : mistakes.get(PIPELINE),
    ending,
    opinion: supportCase ? supportCase.opinion : approval(ending, PRAISE, STEP_IDS, random),
    flaw: exchange.flaw,
    facts: factsOf(rightPassage, startedAt),
    wrong: exchange.wrong,
  }
}

const DAY_MS = 86_400_000

const PRAISE = [
  'Correct, and short enough.',
  'Checked against the doc.',
  'Good: it also mentions the exception.',
  'Correct. The tone is right.',
  "That's what I would have written.",
  'The right doc, with nothing added.',
]

const STEP_IDS = ['retrieve', 'generate-answer']

const FALLBACK = { answer: 'I cannot look this up at the moment. A colleague will email you today.', sources: [] }

const FAILURES = [
  {
    stepId: 'retrieve',
    error: { type: 'timeout', message: 'The search index did not respond within 10000 ms' },
    workMs: 10_000,
  },
  {
    stepId: 'generate-answer',
    error: { type: 'rate_limited', message: 'The model provider returned 429 three times in a row' },
    workMs: 7412,
  },
]

function exchangeOfCase({ mistake: _, objection: __, ...supportCase }: SupportCase): Exchange {
  const { language = 'en', rightPassage, retrieved = rightPassage, sources = [retrieved.doc] } = supportCase
  return { ...supportCase, language, sources }
}

const NO_MISTAKES: ReadonlyMap<string, Mistake> = new Map()

/** The mistakes in a case's outputs: its answer, and the query or chunks if they caused it. */
function mistakesOfCase(
  { flaw, mistake, rightPassage, retrieved }: SupportCase,
  exchange: Exchange,
  { key, startedAt, steps }: { key: string; startedAt: number; steps: readonly Step[] },
): ReadonlyMap<string, Mistake> {
  if (!mistake) return NO_MISTAKES
  const random = seededRandom(`truth of ${key}`)
  const facts = factsOf(rightPassage, startedAt)
  const answer = { answer: mistake.answer, sources: facts.length > 0 ? [rightPassage.doc] : [] }
  const rights: Record<string, JsonObject> = {
    'rewrite-query': { query: mistake.query ?? exchange.query, language: exchange.language },
    // If no doc has the answer, retrieval couldn't have found anything better.
    ...(retrieved &&
      facts.length > 0 && {
        retrieve: {
          chunks: retrieve({ ...exchange, retrieved: rightPassage }, startedAt, random).map(chunk => ({ ...chunk })),
        },
      }),
    'generate-answer': answer,
  }
  const compare = (stepId: string, output: Json = null, right: Json = output) => ({ stepId, output, right })
  const result = steps.find(({ stepId }) => stepId === 'generate-answer')?.output
  return mistakesIn(
    [...steps.map(({ stepId, output }) => compare(stepId, output, rights[stepId])), compare(PIPELINE, result, answer)],
    {
      errorType: ERROR_TYPE_OF_FLAW[flaw],
      why: mistake.why,
      sequels: facts.length > 0 ? (SEQUELS_OF_FLAW[flaw] ?? SEQUELS) : SEQUELS_WITHOUT_FACTS,
      slots: { doc: rightPassage.doc, facts: facts.join(' and ') },
      random,
    },
  )
}

/** The truth about a failed run, which didn't answer although the handbook has an answer. */
const fallbackMistake = (result: JsonObject, index: number): Mistake => ({
  right: result,
  errorType: 'system_failure',
  why: itemAt(FALLBACK_WORDS, Math.floor(index / 40)),
})

/** A question about a topic, phrased differently in each run, and its right answer. */
function exchangeOfTopic({ topic, phrasing, isFollowUp, startedAt, customer }: Turn, random: Random): Exchange {
  const { doc, language, query, answer } = topic
  const { product, orderNumber } = customer
  const asked = itemAt(topic.asked, phrasing)
  const { before, after } = AROUND[language]
  const facts = slotNames(answer).filter(name => name !== 'product')
  const slots = { ...factSlots(doc, startedAt), product, order: orderNumber }
  return {
    flaw: null,
    language,
    query: asked.includes('{product}') && random.chance(60) ? `${query} ${product}` : query,
    question: fill((isFollowUp ? '' : random.pick(before)) + asked + random.pick(after), slots),
    rightPassage: { doc, facts },
    answer: fill(answer, slots),
    sources: [doc],
  }
}

interface Chunk {
  doc: string
  version: number
  text: string
  score: number
}

/** The retrieved paragraphs: those that the answer is based on, and some similar ones. */
function retrieve({ rightPassage, retrieved = rightPassage }: Exchange, time: number, random: Random): Chunk[] {
  const found = findDoc(retrieved.doc)
  const version = retrieved.version ?? versionAt(found, time)
  const paragraphs = paragraphsOf(found)
  const wanted = paragraphs.filter(paragraph => slotNames(paragraph).some(name => retrieved.facts.includes(name)))
  // If the wrong paragraphs were found, the right ones must not be among the similar ones.
  const excluded = [...wanted, ...paragraphsOf(findDoc(rightPassage.doc)).filter(each => holds(each, rightPassage))]
  const near = random.shuffle(paragraphs.filter(each => !excluded.includes(each) && !isRecent(each)))
  const elsewhere = random.pick(HANDBOOK.filter(({ slug }) => slug !== retrieved.doc && slug !== rightPassage.doc))
  const far = random.shuffle(paragraphsOf(elsewhere).filter(each => !isRecent(each)))
  const chunkOf = (doc: HandbookDoc, text: string, at: number) => ({
    doc: doc.slug,
    version: at,
    text: fill(text, slotsOf(doc, at)),
  })
  const chunks = [
    ...wanted.map(text => chunkOf(found, text, version)),
    ...near.slice(0, 1).map(text => chunkOf(found, text, version)),
    ...far.map(text => chunkOf(elsewhere, text, versionAt(elsewhere, time))),
  ]
  return scored(chunks.slice(0, CHUNKS), random)
}

const holds = (paragraph: string, { facts }: Passage) => slotNames(paragraph).some(name => facts.includes(name))

/** Whether a paragraph was added in a later version. In earlier versions, it's empty. */
const isRecent = (paragraph: string) => /^\{\w+\}$/.test(paragraph)

function scored(chunks: readonly Omit<Chunk, 'score'>[], random: Random): Chunk[] {
  let score = random.whole(82, 96)
  return chunks.map(chunk => {
    const scoredChunk = { ...chunk, score: score / 100 }
    score -= random.whole(3, 16)
    return scoredChunk
  })
}

interface RunContext {
  startedAt: number
  chunks: Chunk[]
  result: JsonObject
  random: Random
}

function stepsOf({ language, question, query }: Exchange, { startedAt, chunks, result, random }: RunContext): Step[] {
  const retrievedChunks = chunks.map(chunk => ({ ...chunk }))
  return [
    {
      stepId: 'rewrite-query',
      input: { question },
      output: { query, language },
      promptVersion: versionAt(REWRITE_QUERY, startedAt),
      workMs: random.whole(180, 420),
    },
    {
      stepId: 'retrieve',
      input: { query, top_k: CHUNKS },
      output: { chunks: retrievedChunks },
      workMs: random.whole(25, 90),
      children: [
        {
          stepId: 'embed-query',
          input: { text: query },
          output: { model: 'embedding-small-1', dimensions: 768 },
          workMs: random.whole(20, 70),
        },
      ],
    },
    {
      stepId: 'generate-answer',
      input: { question, language, docs: [...new Set(chunks.map(({ doc }) => doc))] },
      output: result,
      promptVersion: versionAt(GENERATE_ANSWER, startedAt),
      state: { retrieved_chunks: retrievedChunks },
      workMs: random.whole(700, 2600),
    },
  ]
}

const paragraphsOf = ({ text }: HandbookDoc): string[] => text.split('\n\n')

function findDoc(slug: string): HandbookDoc {
  const doc = HANDBOOK.find(each => each.slug === slug)
  if (!doc) throw new Error(`The handbook has no doc ${slug}`)
  return doc
}

function factSlots(slug: string, time: number) {
  const doc = findDoc(slug)
  return slotsOf(doc, versionAt(doc, time))
}

function factsOf({ doc, facts }: Passage, time: number): string[] {
  const slots = factSlots(doc, time)
  return facts.map(name => fill(`{${name}}`, slots))
}
