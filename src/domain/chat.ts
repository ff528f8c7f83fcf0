import { isJsonObject, type Json } from './json.ts'

/*
 * Examples in the form used to fine-tune chat models: a conversation that ends with the expected reply.
 */

/** The conversation formed by an input and its expected output, both given as JSON. Undefined if there's no input. */
export function chatMessages(input: string, expected: string): Json[] | undefined {
  if (input === 'null') return undefined
  return [...(ownMessages(input) ?? [{ role: 'user', content: textOf(input) }]), replyOf(expected)]
}

/** A string's text, or else the JSON. */
export const textOf = (json: string): string => (json.startsWith('"') ? JSON.parse(json) : json)

/** The messages of an input that is a conversation, or that has one in `messages`. */
function ownMessages(json: string): Json[] | undefined {
  if (!/^[[{]/.test(json)) return undefined
  const input: Json = JSON.parse(json)
  const messages = isJsonObject(input) ? input.messages : input
  return Array.isArray(messages) && messages.length > 0 && messages.every(isMessage) ? messages : undefined
}

const isMessage = (value: Json): boolean => isJsonObject(value) && typeof value.role === 'string'

/** The reply. If the expected output is already the assistant's message, it stays as it is. */
function replyOf(json: string): Json {
  if (/^[[{]/.test(json)) {
    const expected: Json = JSON.parse(json)
    const message = Array.isArray(expected) && expected.length === 1 ? expected[0] : expected
    if (isJsonObject(message) && message.role === 'assistant') return message
  }
  return { role: 'assistant', content: textOf(json) }
}
