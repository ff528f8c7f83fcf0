import * as v from 'valibot'
import { applyChanges, type SuggestedChange, type TextChange } from '../../domain/suggestion.ts'
import { cutText, utf8Length } from '../../domain/text.ts'
import type { Work } from '../../domain/turns.ts'
import { MAX_CHANGE_REASON_BYTES, MAX_CONTENT_BYTES, MAX_SUGGESTED_CHANGES } from '../../limits.ts'
import { withControlTokens } from '../../model/quoted-text.ts'
import { findCopied } from './copied.ts'
import { type Basis, exampleLabels } from './question.ts'

const PLACES = ['replace', 'start', 'end'] as const

const Answer = v.object({
  changes: v.array(
    v.object({
      examples: v.array(v.string()),
      reason: v.pipe(v.string(), v.trim(), v.nonEmpty()),
      place: v.picklist(PLACES),
      before: v.string(),
      after: v.string(),
    }),
  ),
})
type Change = v.InferOutput<typeof Answer>['changes'][number]

/** A new version of a prompt. */
export interface Suggestion {
  content: string
  /** In the order in which they appear in the prompt. */
  changes: SuggestedChange[]
}

/** A parsed answer, or a clause that says why the answer is invalid without quoting it. */
type Reading = { answer: Suggestion } | { fault: string }

/** Reads a model's answer. Checks everything that the schema requires, because not every provider enforces it. */
export function* readAnswer(value: unknown, basis: Basis): Work<Reading> {
  const parsed = v.safeParse(Answer, value)
  if (!parsed.success) return { fault: "the changes don't match the schema" }
  const { changes } = parsed.output
  if (changes.length === 0) return { fault: 'it has no changes' }
  if (changes.length > MAX_SUGGESTED_CHANGES) return { fault: `it has more than ${MAX_SUGGESTED_CHANGES} changes` }
  const { content: prompt } = basis.prompt
  const spanIds = new Map(exampleLabels(basis).map((label, index) => [label, basis.examples[index]?.spanId ?? '']))
  const placed: { change: Change; text: TextChange }[] = []
  for (const change of changes) {
    yield
    if (change.examples.length === 0) return { fault: 'a change names no example' }
    if (change.examples.some(label => !spanIds.has(label)))
      return { fault: "a change names an example that isn't there" }
    const text = placeChange(change, prompt)
    if ('fault' in text) return text
    placed.push({ change, text })
  }
  placed.sort(({ text: one }, { text: other }) => one.start - other.start || one.before.length - other.before.length)
  if (placed.some(({ text }, index) => overlaps(text, placed[index + 1]?.text))) return { fault: 'two changes overlap' }
  const texts = placed.map(({ text }) => text)
  const content = applyChanges(prompt, texts)
  const fault = faultOf(prompt, content)
  if (fault) return { fault }
  const copied = yield* findCopied(
    texts.map(({ after }) => after),
    basis,
  )
  return {
    answer: {
      content,
      changes: placed.map(({ change: { examples, reason }, text }, index) => ({
        ...text,
        reason: cutText(reason.toWellFormed(), MAX_CHANGE_REASON_BYTES),
        examples: [...new Set(examples)].map(label => spanIds.get(label) ?? ''),
        copiedFrom: (copied[index] ?? []).map(example => basis.examples[example]?.spanId ?? ''),
      })),
    },
  }
}

/** Finds where in the prompt a change belongs. */
function placeChange({ place, before, after }: Change, prompt: string): TextChange | { fault: string } {
  if (place !== 'replace') {
    if (before !== '') return { fault: '`before` must be empty if a change adds text at the start or end' }
    if (after.trim() === '') return { fault: 'a change adds nothing' }
    return place === 'start'
      ? { start: 0, before, after: after.endsWith('\n') || prompt.startsWith('\n') ? after : `${after}\n` }
      : { start: prompt.length, before, after: after.startsWith('\n') || prompt.endsWith('\n') ? after : `\n${after}` }
  }
  // A model may copy an escape from the question as is or as the character it encodes.
  const asIs = { before, after }
  const unescaped = { before: withControlTokens(before), after: withControlTokens(after) }
  const text = [asIs, unescaped].find(each => each.before !== '' && prompt.includes(each.before))
  if (!text) return { fault: "the text in `before` isn't in the prompt" }
  if (text.before === text.after) return { fault: 'a change changes nothing' }
  const start = prompt.indexOf(text.before)
  if (prompt.includes(text.before, start + 1)) return { fault: 'the text in `before` is in the prompt more than once' }
  return { start, ...text }
}

/** Whether two changes, given in order of position, affect the same text or add text at the same place. */
const overlaps = (one: TextChange, next: TextChange | undefined): boolean =>
  next !== undefined &&
  (one.start + one.before.length > next.start || (one.start === next.start && one.before === '' && next.before === ''))

const placeholders = (text: string): string[] =>
  [...text.matchAll(/\{\{([^{}]*)\}\}/g)].map(([, name = '']) => name.trim())

/**
 * Characters that a diff doesn't show, so nobody would see a rule written in them. Doesn't match the selector for color
 * emoji, which can't encode text.
 */
const UNSEEN = /(?!\uFE0F|[\n\r\t])[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}]/gu
const unseenIn = (text: string): string[] => text.match(UNSEEN) ?? []

const isWithin = (some: readonly string[], all: readonly string[]): boolean => {
  const known = new Set(all)
  return some.every(each => known.has(each))
}

/** Why a new version of a prompt is unusable. */
function faultOf(prompt: string, content: string): string | undefined {
  if (content === prompt) return 'the changes leave the prompt as it is'
  if (content.trim() === '') return 'the changes leave nothing of the prompt'
  if (!content.isWellFormed()) return '`after` contains half of a surrogate pair'
  if (utf8Length(content) > MAX_CONTENT_BYTES) return `the changed prompt has more than ${MAX_CONTENT_BYTES} bytes`
  const [old, fresh] = [placeholders(prompt), placeholders(content)]
  if (!isWithin(old, fresh)) return 'the changes remove a placeholder'
  if (!isWithin(fresh, old)) return 'the changes add a placeholder'
  if (!isWithin(unseenIn(content), unseenIn(prompt))) return 'the changes add invisible characters'
  return undefined
}

/**
 * The JSON schema of the answer. The model writes the fields in this order, so examples and reasons come before texts.
 * The schema is outside the fence, so it contains nothing from the project.
 */
export function answerSchema(basis: Basis) {
  const text = { type: 'string' as const }
  const properties = {
    examples: { type: 'array' as const, items: { ...text, enum: exampleLabels(basis) } },
    reason: text,
    place: { ...text, enum: [...PLACES] },
    before: text,
    after: text,
  }
  const change = {
    type: 'object' as const,
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  }
  return {
    type: 'object' as const,
    properties: { changes: { type: 'array' as const, items: change } },
    required: ['changes'],
    additionalProperties: false,
  }
}
