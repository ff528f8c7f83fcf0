import { pathWith } from '../api/client.ts'
import { parametersIn } from '../parts/parameters.ts'
import type { Compared } from './queries.ts'

/** The filters for the outputs behind a number, in the URL and in the API. */
const OUTPUT_FILTERS = [
  'label',
  'agrees',
  'reviewerId',
  'withReviewerId',
  'withAdjudicator',
  'apart',
  'stepId',
  'from',
  'to',
] as const

export type OutputFilter = (typeof OUTPUT_FILTERS)[number]

/**
 * The other filters that each filter requires. If a user removed one of them, the API would reject the filter that
 * requires it.
 */
const NEEDS: Partial<Record<OutputFilter, OutputFilter[]>> = {
  agrees: ['label'],
  withReviewerId: ['label', 'reviewerId'],
  withAdjudicator: ['label', 'reviewerId'],
}

/** The filters in the URL, except those whose required filters are missing. */
export const filtersIn = (address: URLSearchParams): [name: OutputFilter, value: string][] =>
  parametersIn(OUTPUT_FILTERS, address).filter(([name]) => NEEDS[name]?.every(other => address.get(other)) ?? true)

export type PathTo = (filters?: Partial<Record<OutputFilter, string>>) => string

/** Returns a function that builds the path to the outputs behind a number. */
export const pathsTo =
  (project: string, compared: Compared): PathTo =>
  (filters = {}) =>
    pathWith('/agreement/outputs', { project, ...compared, ...filters })
