import { ERROR_CATEGORIES, type ErrorType } from '../domain/attribution.ts'
import table from './taxonomy.json' with { type: 'json' }

type Table = typeof table

export type BuiltInErrorType = { [Category in keyof Table]: keyof Table[Category] }[keyof Table]

interface BuiltIn extends ErrorType {
  errorType: BuiltInErrorType
}

/**
 * The built-in error types, as the migration seeds them, in display order: errors by users, errors by the people who
 * review or write guidelines, then errors by the AI.
 */
export const TAXONOMY: readonly BuiltIn[] = ERROR_CATEGORIES.flatMap(category =>
  entriesOf(table[category]).map(([errorType, { id, name, rule }]) => ({ errorType, id, name, category, rule })),
)

/** An object's entries, typed with its field names. */
function entriesOf<Fields extends object>(fields: Fields): [keyof Fields, Fields[keyof Fields]][] {
  return Object.entries(fields) as [keyof Fields, Fields[keyof Fields]][]
}

/** If several types have equal evidence, the first of these that applies wins. */
export const DECIDED_FIRST: readonly BuiltInErrorType[] = [
  'system_failure',
  'output_format_violation',
  'missing_input_information',
  'incorrect_input_data',
  'outdated_reference',
  'reviewer_mistake',
]

/** The built-in error types in the order that breaks ties. */
export const TIE_ORDER: readonly BuiltInErrorType[] = [
  ...DECIDED_FIRST,
  ...TAXONOMY.map(({ errorType }) => errorType).filter(errorType => !DECIDED_FIRST.includes(errorType)),
]

const byErrorType: ReadonlyMap<string, ErrorType> = new Map(TAXONOMY.map(type => [type.errorType, type]))

/** The built-in error type with this name. */
export const findBuiltIn = (errorType: string): ErrorType | undefined => byErrorType.get(errorType)
