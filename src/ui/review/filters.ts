import { parametersIn, withoutFilters } from '../parts/parameters.ts'

/** Which spans a queue contains: the ones that need review, or the ones on which reviewers disagree. */
export type QueueKind = 'review' | 'disputes'

export const TITLES: Readonly<Record<QueueKind, string>> = { review: 'Review', disputes: 'Adjudication' }

/** The queue's orders. The first is the default. */
export const ORDERS = [
  { value: 'mine', label: 'Mine first' },
  { value: 'oldest', label: 'Oldest first' },
  { value: 'newest', label: 'Newest first' },
  { value: 'negative', label: 'Negative first' },
  { value: 'random', label: 'Random' },
] as const

type Order = (typeof ORDERS)[number]['value']

/** The part of the queue to review, and its order. */
export interface QueueFilter {
  order: Order
  /** A user's ID, `me`, or `none`; '': any. */
  assignee: string
  /** `true` includes the spans that the review policy leaves out. */
  all: string
  /** '': any. */
  stepId: string
  /** The trace's name; '': any. */
  name: string
}

/** The filter in a URL. An unknown order is read as the first one in the list. */
export const filterFrom = (parameters: URLSearchParams): QueueFilter => ({
  order: ORDERS.find(({ value }) => value === parameters.get('order'))?.value ?? ORDERS[0].value,
  assignee: parameters.get('assignee') ?? '',
  all: parameters.get('all') === 'true' ? 'true' : '',
  stepId: parameters.get('stepId') ?? '',
  name: parameters.get('name') ?? '',
})

const FILTERS = ['order', 'assignee', 'all', 'stepId', 'name'] as const

/**
 * The order to request. Disputes have only two orders, and "mine first" doesn't apply to one person's assignments or to
 * unassigned spans.
 */
export function orderOf(kind: QueueKind, { order, assignee }: QueueFilter): string {
  if (kind === 'disputes') return order === 'newest' ? order : 'oldest'
  if (order !== 'mine' || assignee === '') return order
  return assignee === 'none' ? 'oldest' : 'due'
}

/** The orders of disputes. The first is the default. */
export const DISPUTE_ORDERS = ORDERS.filter(({ value }) => value === 'oldest' || value === 'newest')

/** The filter in a URL, as a URL query. */
export const queryOf = (parameters: URLSearchParams): string =>
  new URLSearchParams(parametersIn(FILTERS, parameters)).toString()

/** The URL's parameters without a filter and without the current span. */
export const withoutQueueFilter = withoutFilters(name => name === 'span' || FILTERS.some(filter => filter === name))
