export type Json = string | number | boolean | null | Json[] | Fields
export type Fields = { [field: string]: Json }

export const isObject = (value: Json): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const itemsOf = (value: Json): Json[] =>
  Array.isArray(value) ? value : isObject(value) ? Object.values(value) : []

export const bytesOf = (text: string): number => new TextEncoder().encode(text).byteLength
