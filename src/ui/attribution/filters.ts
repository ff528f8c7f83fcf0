import { pathWith } from '../api/client.ts'
import { parametersIn } from '../parts/parameters.ts'
import type { Comparison } from './queries.ts'

/** The filters for compared answers, in the URL and in the API. */
export const ANSWER_FILTERS = [
  'errorType',
  'reviewedErrorType',
  'agrees',
  'tenth',
  'engine',
  'engineVersion',
  'from',
  'to',
] as const

type AnswerFilters = Partial<Record<(typeof ANSWER_FILTERS)[number], string>>

/** The URL's filters as an API query. */
export const filtersIn = (address: URLSearchParams): string =>
  new URLSearchParams(parametersIn(ANSWER_FILTERS, address)).toString()

/** Returns a function that builds the path to the answers behind a number. */
export const pathsTo =
  (project: string, comparison: Comparison) =>
  (filters: AnswerFilters = {}): string =>
    pathWith('/attribution/answers', { project, ...comparison, ...filters })
