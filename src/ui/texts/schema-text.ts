import type { Json } from '../api/wire.ts'

/** A schema as editable text; `{}` if there's no schema. */
export const schemaText = (schema: Json | null): string =>
  schema === null ? '{}' : JSON.stringify(schema, undefined, 2)

/** Parses a schema, or says why the text isn't one. */
export function parseSchema(text: string): { schema: object } | { fault: string } {
  if (text.trim() === '') return { schema: {} }
  try {
    const schema: unknown = JSON.parse(text)
    if (schema instanceof Object && !Array.isArray(schema)) return { schema }
    return { fault: 'The schema must be a JSON object.' }
  } catch (error) {
    return { fault: `Not valid JSON yet: ${error instanceof Error ? error.message : String(error)}` }
  }
}
