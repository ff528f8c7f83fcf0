import type { Json } from '../../domain/json.ts'
import { itemsOf, RETRIEVAL_NAMES, textIn, textsIn } from '../../domain/retrieved-content.ts'
import type { KnowledgeDoc, Step, Subject } from '../../domain/subject.ts'
import { MAX_PART_EFFORT } from '../../limits.ts'
import { attempt, spend } from '../effort.ts'
import { plain } from '../text/terms.ts'

/** Content from the knowledge base that a step fetched or received. */
export interface Retrieval {
  step: Step
  /** `output` or `state.<key>`. */
  path: string
  /** The knowledge docs that the content names or quotes. */
  slugs: string[]
  /** Whether the content includes text and not only names. */
  hasText: boolean
  isEmpty: boolean
}

/**
 * Finds retrieved content: values that name or quote knowledge docs, and search steps' results, if they're empty or
 * contain text. If `isComplete` is false, there was too much to search.
 */
export function retrievalsOf({ steps, knowledgeDocs }: Subject): { retrievals: Retrieval[]; isComplete: boolean } {
  const docs = new LabeledDocs(knowledgeDocs)
  const retrievals: Retrieval[] = []
  const isComplete = attempt(MAX_PART_EFFORT, () => {
    for (const step of steps) {
      for (const [key, value] of Object.entries(step.state))
        retrievals.push(...(retrievalAt(step, `state.${key}`, key, value, docs) ?? []))
      if (step.hasOutput) retrievals.push(...(retrievalAt(step, 'output', step.stepId, step.output, docs) ?? []))
    }
    return true
  })
  return { retrievals, isComplete: isComplete === true }
}

function retrievalAt(step: Step, path: string, name: string, value: Json, docs: LabeledDocs): Retrieval[] | undefined {
  const items = itemsOf(value)
  if (!items) return undefined
  const isNamed = RETRIEVAL_NAMES.test(name)
  const slugs = [...new Set(items.flatMap(item => docOf(item, docs) ?? []))]
  const texts = items.flatMap(item => textIn(item) ?? [])
  const isEmpty = items.length === 0
  const isRetrieval = slugs.length > 0 || (isNamed && (isEmpty || texts.length > 0))
  if (!isRetrieval || (isEmpty && docs.isEmpty && path === 'output')) return undefined
  return [{ step, path, slugs, hasText: texts.length > 0, isEmpty }]
}

/** The slug of the knowledge doc that an item belongs to, found by slug, title, or text. */
function docOf(item: Json, docs: LabeledDocs): string | undefined {
  const keys = new Set(textsIn(item).map(plain))
  const named = docs.findByKey(keys)
  if (named !== undefined) return named
  const text = textIn(item)
  return text === undefined ? undefined : docs.findByText(text)
}

/** Indexes knowledge docs for lookup, so that each doc is read once instead of once per item. */
class LabeledDocs {
  readonly #docs: { slug: string; label: string; title: string; content: string }[]
  #texts: string[] | undefined
  readonly #found = new Map<string, string | undefined>()

  constructor(docs: readonly KnowledgeDoc[]) {
    this.#docs = docs.map(({ slug, title, content }) => ({ slug, label: plain(slug), title: plain(title), content }))
  }

  get isEmpty(): boolean {
    return this.#docs.length === 0
  }

  /**
   * The slug of the doc whose slug or title is one of the keys, or whose slug is the beginning of a key, as in
   * `returns#2`.
   */
  findByKey(keys: ReadonlySet<string>): string | undefined {
    const sectioned = [...keys].filter(key => /[#:/.]/.test(key))
    spend(1 + this.#docs.length * (1 / 4 + sectioned.length / 2))
    const isSectionOf = (key: string, label: string) => key.startsWith(label) && /[#:/.]/.test(key.charAt(label.length))
    const named =
      this.#docs.find(({ label, title }) => keys.has(label) || keys.has(title)) ??
      this.#docs.find(({ label }) => sectioned.some(key => isSectionOf(key, label)))
    return named?.slug
  }

  /** The slug of the doc that contains the beginning of a string. */
  findByText(text: string): string | undefined {
    const beginning = flat(text).slice(0, 60).trim()
    if (this.#found.has(beginning)) return this.#found.get(beginning)
    this.#texts ??= this.#docs.map(({ content }) => flat(content))
    spend(this.#texts.reduce((sum, content) => sum + content.length, 0) / CHARACTERS_PER_STEP)
    const slug = this.#docs[this.#texts.findIndex(content => content.includes(beginning))]?.slug
    this.#found.set(beginning, slug)
    return slug
  }
}

function flat(text: string): string {
  spend(text.length / 4)
  return plain(text).replace(/\s+/gu, ' ')
}

/** How many characters a text search covers in one step. */
const CHARACTERS_PER_STEP = 100
