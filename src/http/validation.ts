import * as v from 'valibot'
import { type ErrorDetail, invalidRequest } from './errors.ts'

/** What a schema makes of an input. 400 with every field at fault. */
export function parse<Output>(schema: v.GenericSchema<unknown, Output>, input: unknown): Output {
  const result = v.safeParse(schema, input, { abortPipeEarly: true })
  if (result.success) return result.output
  throw invalidRequest(validationDetails(result.issues))
}

/** Valibot's issues as the contract's details: dotted paths, and messages that tell a person what to mend. */
export function validationDetails(issues: readonly v.BaseIssue<unknown>[]): ErrorDetail[] {
  return issues.map(issue => ({ path: pathOf(issue), message: messageOf(issue) }))
}

const pathOf = (issue: v.BaseIssue<unknown>): string => (issue.path ?? []).map(item => String(item.key)).join('.')

function messageOf(issue: v.BaseIssue<unknown>): string {
  if (issue.kind !== 'schema' || !issue.message.startsWith('Invalid ')) return issue.message
  if (issue.received === 'undefined') return issue.path ? 'is required' : 'The body is empty; a JSON object is required'
  if (issue.expected === 'never')
    return pathOf(issue) === '' ? 'A field without a name is not known here' : 'is not known here'
  return `must be ${expected(issue.expected ?? issue.type)}`
}

/** Valibot's name of a type, in the words of JSON: `("a" | "b")` becomes `"a" or "b"`. */
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
