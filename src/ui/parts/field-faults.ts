import { Fault } from '../api/client.ts'

export interface FieldFaults {
  /** The service's error for a field, if any. */
  of: (field: string) => string | undefined
  /** The whole error, or null if these fields show all of it. */
  rest: Error | null
}

/** Splits an error into the errors in a form's fields and the rest. */
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
