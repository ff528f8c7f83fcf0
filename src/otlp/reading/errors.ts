import type { JsonObject } from '../../domain/json.ts'
import { present } from './attribute-values.ts'

const TRACEBACK = 'Traceback (most recent call last)'
/** Error types that carry no information. */
const GENERAL = new Set(['error', 'Error', 'Exception', 'builtins.Exception'])

/**
 * An error as `{type, message, traceback?}`. Some clients send a traceback as the message: its last line has the
 * message, and often the type.
 */
export function errorFrom(type: string, text: string | undefined): JsonObject {
  const start = text?.indexOf(TRACEBACK) ?? -1
  if (text === undefined || start < 0) return { type, ...present<JsonObject>({ message: text }) }
  const whole = text.slice(start).trimEnd()
  const last = whole.slice(whole.lastIndexOf('\n') + 1).trim()
  const [, raised, message] = /^([\w.]{1,200}): (.*)$/.exec(last) ?? []
  const before = text.slice(0, start).trim()
  return {
    type: raised !== undefined && GENERAL.has(type) ? raised : type,
    message: message ?? (before || last),
    traceback: whole,
  }
}
