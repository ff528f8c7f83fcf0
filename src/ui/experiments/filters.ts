import type { ExperimentItem, ExperimentReport } from '../api/wire.ts'
import { count } from '../parts/format.ts'
import { parametersIn, withParameters } from '../parts/parameters.ts'

/*
 * Filters in URLs. They use the API's names.
 */

type State = ExperimentReport['state']

/** An experiment's states in words. */
export const STATES: Readonly<Record<State, string>> = {
  running: 'Running',
  finished: 'Finished',
  cancelled: 'Canceled',
  failed: 'Failed',
}

const LIST_FILTERS = ['datasetId', 'promptVersionId', 'state'] as const

/** The list's filters in a URL. */
export const listFiltersIn = (address: URLSearchParams) => parametersIn(LIST_FILTERS, address)

export type Outcome = NonNullable<ExperimentItem['outcome']>
export type Change = NonNullable<ExperimentItem['change']>

export const OUTCOMES: Readonly<Record<Outcome, string>> = {
  unjudged: 'Unjudged',
  failed: 'Failed',
  error: 'Errors',
  passed: 'Passed',
}

export const CHANGES: Readonly<Record<Change, string>> = {
  regressed: 'Regressed',
  fixed: 'Fixed',
  stillWrong: 'Still wrong',
  stillRight: 'Still right',
}

/** How many items have the outcome or change with this name: `3 failed`, `1 error`. */
export const countWithName = (value: number, name: string): string =>
  `${count(value)} ${value === 1 && name === OUTCOMES.error ? 'error' : name.toLowerCase()}`

/** A model's judgment of an output, in words. */
export const JUDGMENTS = { same: 'same', different: 'different', none: 'no judgment' } as const
/** People's decisions on an output, in words. */
export const DECISIONS = { accept: 'accepted', reject: 'rejected' } as const

/** The filters for an item list. The page sets at most one of `outcome`, `change`, and `pending`. */
const ITEM_FILTERS = [
  'outcome',
  'change',
  'pending',
  'judgment',
  'decision',
  'split',
  'errorType',
  'problemId',
  'itemId',
] as const

export type ItemFilter = Partial<Record<(typeof ITEM_FILTERS)[number], string | undefined>>

export const itemFilterIn = (address: URLSearchParams): ItemFilter =>
  Object.fromEntries(parametersIn(ITEM_FILTERS, address))

/** A report's URL parameters with different item filters. */
export const withItemFilter = (filter: ItemFilter) =>
  withParameters({
    ...Object.fromEntries(ITEM_FILTERS.map(name => [name, filter[name]])),
    view: null,
    items: Object.keys(filter).length === 0 ? 'all' : null,
    item: null,
  })

/**
 * The lists to show one after another. If no filter is set, a report shows the items that a person should check:
 * unjudged items, and then regressed ones.
 */
export function itemListsOf(address: URLSearchParams): ItemFilter[] {
  const filter = itemFilterIn(address)
  if (Object.keys(filter).length > 0 || address.get('items') === 'all') return [filter]
  return [{ outcome: 'unjudged' }, { change: 'regressed' }]
}
