import type { Json } from '../api/wire.ts'

/** A schema as people edit it: `{}` for none. */
export const schemaText = (schema: Json | null): string =>
  schema === null ? '{}' : JSON.stringify(schema, undefined, 2)

/** The schema that a text spells, or why it spells none. */
export function parseSchema(text: string): { schema: object } | { fault: string } {
  if (text.trim() === '') return { schema: {} }
  try {
    const schema: unknown = JSON.parse(text)
    if (schema instanceof Object && !Array.isArray(schema)) return { schema }
    return { fault: 'A schema is a JSON object.' }
  } catch (error) {
    return { fault: `This is not JSON yet: ${error instanceof Error ? error.message : String(error)}` }
  }
}
