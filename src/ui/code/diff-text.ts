import type { Json } from '../api/wire.ts'

/** A value's text for a diff: strings unchanged, other values as JSON. */
export const diffText = (value: Json): string =>
  typeof value === 'string' ? value : JSON.stringify(value, undefined, 2)
