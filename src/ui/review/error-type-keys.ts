import type { ErrorTypes } from '../api/wire.ts'

export type ErrorType = ErrorTypes['errorTypes'][number]

/** The error types that have a key. AI errors come first, because reviewers choose them most often. */
export const typesWithKeys = (errorTypes: readonly ErrorType[]): ErrorType[] =>
  errorTypes
    .filter(({ isEnabled }) => isEnabled)
    .toSorted((left, right) => Number(right.category === 'AI Error') - Number(left.category === 'AI Error'))
    .slice(0, 9)
