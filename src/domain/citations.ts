import { MAX_LABEL_LENGTH } from '../limits.ts'

/*
 * Finds where text cites a source. Readers follow citations as links, so a name counts only in a place that makes it a
 * citation: a word that happens to be a doc's slug isn't one.
 */

export interface Citation {
  start: number
  end: number
  name: string
}

/** Text in brackets, as in "24 months [warranty, 2]". */
const BRACKETS = /[[(【]([^[\]()【】\n]{1,300})[\])】]/gu
/** A list of sources, as in "Sources: loyalty, returns". */
const LISTS = /\b(?:sources?|references?|citations?|cited|docs?|documents?)[*_]{0,2}:[*_]{0,2}([^\n[\]]{1,300})/giu
const CODE = /`([^`\n]{1,300})`/gu
const PARTS = /[^,;]+/g
/** A match starts at the first character, so the search stays linear. */
const WORDS = /[^\s,;()[\]{}<>"'`*【】“”‘’]+/gu

const NUMBER = /^\d+$/
/** A letter, and a symbol or digit that ordinary words don't have: `returns-2`, `faq.md`, `loyalty#1`. */
const DISTINCTIVE = /^(?=.*\p{L})(?=.*[-_#/.:\d]).{3,}$/u

/**
 * Finds the citations of sources in a string, in order. They don't overlap. A number is a citation only in square
 * brackets.
 */
export function citationsIn(text: string, isName: (name: string) => boolean): Citation[] {
  const found: Citation[] = []
  const add = (part: string, at: number, isAllowed = isWord): void => {
    const name = part.trim()
    if (name === '' || !isAllowed(name) || !isName(name)) return
    const start = at + part.indexOf(name)
    found.push({ start, end: start + name.length, name })
  }
  add(text, 0)
  for (const { 0: whole, 1: inside = '', index } of text.matchAll(BRACKETS)) {
    const isAllowed = whole.startsWith('(') ? isWord : isAny
    for (const { 0: part, index: at } of inside.matchAll(PARTS)) add(part, index + 1 + at, isAllowed)
  }
  for (const { 0: whole, 1: list = '', index } of text.matchAll(LISTS)) {
    const start = index + whole.length - list.length
    for (const { 0: part, index: at } of list.matchAll(PARTS)) add(withoutEnd(part), start + at)
  }
  for (const { 1: inside = '', index } of text.matchAll(CODE)) add(inside, index + 1)
  for (const { 0: word, index } of text.matchAll(WORDS)) add(withoutEnd(word), index, isDistinctive)
  return withoutOverlaps(found)
}

const isAny = () => true
const isWord = (name: string): boolean => !NUMBER.test(name)
const isDistinctive = (name: string): boolean => name.length <= MAX_LABEL_LENGTH && DISTINCTIVE.test(name)

/** Removes the punctuation that ends a sentence. */
const withoutEnd = (part: string): string => part.trimEnd().replace(/[.:!?]{1,3}$/, '')

function withoutOverlaps(citations: readonly Citation[]): Citation[] {
  const kept: Citation[] = []
  for (const citation of citations.toSorted((one, other) => one.start - other.start || other.end - one.end)) {
    if (citation.start >= (kept.at(-1)?.end ?? 0)) kept.push(citation)
  }
  return kept
}
