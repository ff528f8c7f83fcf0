import * as v from 'valibot'
import { type ErrorDetail, invalidRequest } from './errors.ts'

/** Parses an input with a schema. 400 with every invalid field. */
export function parse<Output>(schema: v.GenericSchema<unknown, Output>, input: unknown): Output {
  const result = v.safeParse(schema, input, { abortPipeEarly: true })
  if (result.success) return result.output
  throw invalidRequest(validationDetails(result.issues))
}

/** Turns Valibot's issues into error details: dotted paths, and messages that say what to fix. */
export function validationDetails(issues: readonly v.BaseIssue<unknown>[]): ErrorDetail[] {
  return issues.map(issue => ({ path: pathOf(issue), message: messageOf(issue) }))
}

const pathOf = (issue: v.BaseIssue<unknown>): string => (issue.path ?? []).map(item => String(item.key)).join('.')

function messageOf(issue: v.BaseIssue<unknown>): string {
  if (issue.kind !== 'schema' || !issue.message.startsWith('Invalid ')) return issue.message
  if (issue.received === 'undefined') return issue.path ? 'is required' : 'The body is empty; a JSON object is required'
  if (issue.expected === 'never')
    return pathOf(issue) === '' ? 'A field without a name is not recognized' : 'is not recognized'
  return `must be ${expected(issue.expected ?? issue.type)}`
}

/** Translates Valibot's type names into JSON's: `("a" | "b")` becomes `"a" or "b"`. */
function expected(type: string): string {
  const names: Record<string, string> = {
    Object: 'an object',
    Array: 'an array',
    string: 'a string',
    number: 'a number',
    boolean: 'true or false',
  }
  const alternatives = type.replace(/[()]/g, '').split(' | ')
  return alternatives.map(name => names[name] ?? name).join(' or ')
}
