import { PREVIEW_LENGTH } from '../limits.ts'
import { mergeInputs } from './fold.ts'
import { isJsonObject, type Json } from './json.ts'
import { parseBeginning } from './json-beginning.ts'
import { isMessage, messageText } from './shared-text.ts'

/* A one-line preview of a value for lists: the beginning of the text that a person would read. */

/** The beginning of one of a span's inputs, as JSON. */
export interface InputBeginning {
  json: string
  /** Whether it's one message of a conversation. */
  isMessage: boolean
}

/**
 * Previews a span's inputs, given oldest first. For a conversation, shows the user's last message. Null if there are no
 * inputs.
 */
export function inputPreview(inputs: readonly InputBeginning[]): string | null {
  const values = inputs.map(({ json }) => valueIn(json))
  const messages = inputs.filter(({ isMessage }) => isMessage).length
  const input = mergeInputs(
    values.map(({ value }) => value),
    messages,
  )
  if (input === undefined || input === null) return null
  const isWhole = values.every(({ isWhole }) => isWhole)
  return cut(textOf(lastQuestion(input) ?? input), isWhole)
}

/** Previews an output, given the beginning of its JSON. Null if the output is null. */
export function outputPreview(json: string): string | null {
  const { value, isWhole } = valueIn(json)
  return value === null ? null : cut(textOf(value), isWhole)
}

function valueIn(json: string): { value: Json; isWhole: boolean } {
  const { value = null, isWhole } = parseBeginning(json)
  return { value, isWhole }
}

/** A value as a person would read it: the text of a message or response, a string, or else the JSON. */
const textOf = (value: Json): string => messageText(value) ?? JSON.stringify(value)

/** The last message by a user in a conversation, or in the `messages` of a request to a model. */
export function lastQuestion(input: Json): Json | undefined {
  const messages = isJsonObject(input) ? input.messages : input
  if (!Array.isArray(messages) || !messages.every(isMessage)) return undefined
  return messages.findLast(({ role, type }) => role === 'user' || type === 'human' || type === 'HumanMessage')
}

/** Truncates a string to `PREVIEW_LENGTH`, after a word if one ends near there. Never splits a visible character. */
function cut(text: string, isWhole: boolean): string {
  const trimmed = text.trim()
  if (isWhole && trimmed.length <= PREVIEW_LENGTH) return trimmed
  const end = PREVIEW_LENGTH - ELLIPSIS.length
  characters ??= new Intl.Segmenter()
  const fitting = trimmed.length <= end ? trimmed : trimmed.slice(0, characters.segment(trimmed).containing(end)?.index)
  const words = trimmed.length <= end ? undefined : /^.*\S(?=\s)/s.exec(fitting)?.[0]
  return `${words && words.length >= end - MAX_CUT_WORD ? words : fitting.trimEnd()}${ELLIPSIS}`
}

const ELLIPSIS = '…'
const MAX_CUT_WORD = 40
let characters: Intl.Segmenter | undefined
