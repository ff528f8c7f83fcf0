import { Fault } from '../api/client.ts'

export interface FieldFaults {
  /** What the service says about a field, if anything. */
  of: (field: string) => string | undefined
  /** The fault, where it is not, or not only, about these fields. */
  rest: Error | null
}

/** Parts a refusal into what is wrong with each of a form's fields, and what no field there can show. */
export function fieldFaults(error: Error | null, fields: readonly string[]): FieldFaults {
  const details = error instanceof Fault ? error.details : []
  const isOf = (field: string, path: string) => path === field || path.startsWith(`${field}.`)
  const isShown = details.length > 0 && details.every(({ path }) => fields.some(field => isOf(field, path)))
  return {
    of: field => {
      const messages = details
        .filter(({ path }) => isOf(field, path))
        .map(({ path, message }) => (path === field ? message : `${path.slice(field.length + 1)}: ${message}`))
      return messages.length === 0 ? undefined : messages.join('; ')
    },
    rest: isShown ? null : error,
  }
}
