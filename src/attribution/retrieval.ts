import { isJsonObject, type Json } from '../domain/json.ts'
import type { Step, Subject } from './subject.ts'
import { plain } from './terms.ts'
import { NAMES_RETRIEVAL } from './vocabulary.ts'

/** What a step fetched from the knowledge base, or was given of it. */
export interface Retrieval {
  step: Step
  /** `output` or `state.<key>`. */
  path: string
  value: Json
  /** The knowledge docs that it names or has text of. */
  slugs: string[]
  /** Whether the texts themselves are there, and not names alone. */
  hasText: boolean
  isEmpty: boolean
}

/** Finds what was retrieved: values that name knowledge docs or hold text of them, and empty ones of steps that search. */
export function retrievalsOf(subject: Subject): Retrieval[] {
  return subject.steps.flatMap(step => [
    ...Object.entries(step.state).flatMap(
      ([key, value]) => retrievalAt(step, `state.${key}`, key, value, subject) ?? [],
    ),
    ...(step.hasOutput ? (retrievalAt(step, 'output', step.stepId, step.output, subject) ?? []) : []),
  ])
}

function retrievalAt(step: Step, path: string, name: string, value: Json, subject: Subject): Retrieval[] | undefined {
  const items = itemsOf(value)
  if (!items) return undefined
  const isNamed = NAMES_RETRIEVAL.test(name)
  const slugs = [...new Set(items.flatMap(item => docOf(item, subject) ?? []))]
  const texts = items.flatMap(item => textIn(item) ?? [])
  const isEmpty = items.length === 0
  const isRetrieval = slugs.length > 0 || (isNamed && (isEmpty || texts.length > 0))
  if (!isRetrieval || (isEmpty && subject.knowledgeDocs.length === 0 && path === 'output')) return undefined
  return [{ step, path, value, slugs, hasText: texts.length > 0, isEmpty }]
}

/** A list, itself or as the one list of an object; or one document. */
function itemsOf(value: Json): Json[] | undefined {
  if (Array.isArray(value)) return value
  if (!isJsonObject(value)) return undefined
  const lists = Object.values(value).filter(Array.isArray)
  if (lists.length === 1) return lists[0]
  return textIn(value) === undefined ? undefined : [value]
}

/** The knowledge doc that an item is of: by its slug or title, or by its text. */
function docOf(item: Json, { knowledgeDocs }: Subject): string | undefined {
  const labels = typeof item === 'string' ? [item] : isJsonObject(item) ? Object.values(item).filter(isText) : []
  const keys = new Set(labels.map(plain))
  const named = knowledgeDocs.find(({ slug, title }) => keys.has(plain(slug)) || keys.has(plain(title)))
  if (named) return named.slug
  const prefixed = knowledgeDocs.find(({ slug }) =>
    [...keys].some(key => new RegExp(`^${literal(plain(slug))}[#:/.]`).test(key)),
  )
  if (prefixed) return prefixed.slug
  const text = textIn(item)
  return text === undefined ? undefined : knowledgeDocs.find(({ content }) => isExcerpt(text, content))?.slug
}

const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/gu, '\\$&')

const isText = (value: Json): value is string => typeof value === 'string'

/** The longest string of an item that is more than a name. */
function textIn(item: Json): string | undefined {
  const texts = typeof item === 'string' ? [item] : isJsonObject(item) ? Object.values(item).filter(isText) : []
  const [longest = ''] = texts.toSorted((left, right) => right.length - left.length)
  return longest.length >= 20 && /\s|[\p{sc=Han}\p{sc=Hiragana}\p{sc=Hangul}]/u.test(longest) ? longest : undefined
}

function isExcerpt(text: string, content: string): boolean {
  const flat = (value: string) => plain(value).replace(/\s+/gu, ' ')
  return flat(content).includes(flat(text).slice(0, 60).trim())
}
