import type { Filter } from '../filters/filter.ts'
import { FilterBar } from '../filters/filter-bar.tsx'
import { DISPUTE_ORDERS, ORDERS, type QueueKind, withoutQueueFilter } from './filters.ts'

/** The filters that are visible even if they aren't set. */
const PINNED = ['Order', 'Assigned to', 'Step']

/** Filters and sorts the queue, and goes back to its first item. */
export const QueueFilters = ({ kind, steps }: { kind: QueueKind; steps: readonly string[] }) => (
  <FilterBar filters={filtersWith(kind, steps)} pinned={PINNED} placeName="span" onClear={withoutQueueFilter} />
)

const filtersWith = (queue: QueueKind, suggestions: readonly string[]): Filter[] => [
  {
    kind: 'choice',
    label: 'Order',
    name: 'order',
    options: queue === 'disputes' ? DISPUTE_ORDERS : ORDERS,
  },
  {
    kind: 'choice',
    label: 'Assigned to',
    name: 'assignee',
    options: [
      { value: 'me', label: 'Me' },
      { value: 'none', label: 'Nobody' },
    ],
  },
  ...(queue === 'review'
    ? [
        {
          kind: 'choice' as const,
          label: 'Outputs',
          name: 'all',
          options: [{ value: 'true', label: 'Including those that the policy leaves out' }],
        },
      ]
    : []),
  { kind: 'text', label: 'Step', name: 'stepId', placeholder: 'e.g. generate-answer', suggestions },
  { kind: 'text', label: 'Trace name', name: 'name', placeholder: 'e.g. support-answer' },
]
