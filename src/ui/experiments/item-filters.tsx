import { Group, Pill } from '@mantine/core'
import { Link, useSearchParams } from 'wouter'
import type { ExperimentReport } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { count } from '../parts/format.ts'
import { useErrorTypeNames } from '../session/error-type-names.ts'
import {
  CHANGES,
  type Change,
  DECISIONS,
  type ItemFilter,
  itemFilterIn,
  JUDGMENTS,
  OUTCOMES,
  type Outcome,
  withItemFilter,
} from './filters.ts'
import classes from './items.module.css'

interface Choice {
  label: string
  filter: ItemFilter
  value: number
}

/** The lists of items to choose from, with the number of items in each. */
export function ItemFilters({ report }: { report: ExperimentReport }) {
  const [address] = useSearchParams()
  const { decision, split, errorType, problemId, itemId, ...shown } = itemFilterIn(address)
  const isNarrowed = [decision, split, errorType, problemId, itemId].some(value => value !== undefined)
  const isAll = address.get('items') === 'all'
  return (
    <Group gap="xs" component="nav" aria-label="Lists of items">
      <FilterLink
        report={report}
        label="To check"
        value={report.counts.unjudged + report.counts.regressed}
        to={withItemFilter({})(address)}
        isCurrent={!isNarrowed && !isAll && Object.keys(shown).length === 0}
        isFirst
      />
      {choicesOf(report).map(({ label, filter, value }) => (
        <FilterLink
          key={label}
          report={report}
          label={label}
          value={value}
          to={withItemFilter(filter)(address)}
          isCurrent={!isNarrowed && isSame(shown, filter) && (isAll || Object.keys(shown).length > 0)}
        />
      ))}
      <Narrowing filter={itemFilterIn(address)} />
    </Group>
  )
}

function choicesOf({ counts, items, pending, state, judging }: ExperimentReport): Choice[] {
  const outcome = (name: Outcome): Choice => ({ label: OUTCOMES[name], filter: { outcome: name }, value: counts[name] })
  const change = (name: Change): Choice => ({ label: CHANGES[name], filter: { change: name }, value: counts[name] })
  const all = [
    outcome('unjudged'),
    ...(['same', 'different'] as const).map(judgment => ({
      label: `Model: ${JUDGMENTS[judgment]}`,
      filter: { outcome: 'unjudged', judgment },
      value: judging[judgment],
    })),
    change('regressed'),
    change('fixed'),
    outcome('failed'),
    outcome('error'),
    outcome('passed'),
    change('stillWrong'),
    change('stillRight'),
    ...(state === 'finished' ? [] : [{ label: 'Pending', filter: { pending: 'true' }, value: pending }]),
  ]
  return [...all.filter(({ value }) => value > 0), { label: 'All', filter: {}, value: items }]
}

const isSame = (one: ItemFilter, other: ItemFilter): boolean => JSON.stringify(one) === JSON.stringify(other)

interface FilterLinkProps {
  report: ExperimentReport
  label: string
  value: number
  to: URLSearchParams
  isCurrent: boolean
  /** Whether a report shows this list by default. */
  isFirst?: boolean
}

function FilterLink({ report: { id }, label, value, to, isCurrent, isFirst = false }: FilterLinkProps) {
  if (isFirst) to.delete('items')
  return (
    <Link
      href={`/experiments/${id}?${to}`}
      className={classes.filter ?? ''}
      aria-current={isCurrent ? 'true' : undefined}
    >
      {label} <b>{count(value)}</b>
    </Link>
  )
}

/** Filters that come from a link and can only be removed. */
function Narrowing({ filter }: { filter: ItemFilter }) {
  const { outcome, change, judgment, decision, split, errorType, problemId, itemId } = filter
  const [, setAddress] = useSearchParams()
  const typeName = useErrorTypeNames()
  const filters = [
    // If an outcome is also set, the judgment belongs to one of the lists above.
    { name: 'judgment', label: 'Model', value: outcome === undefined ? wordFor(JUDGMENTS, judgment) : undefined },
    { name: 'change', label: 'Change', value: problemId && wordFor(CHANGES, change) },
    { name: 'problemId', label: 'Items', value: problemId && "only this problem's" },
    { name: 'decision', label: 'Person', value: wordFor(DECISIONS, decision) },
    { name: 'split', label: 'Split', value: split },
    { name: 'errorType', label: 'Error type', value: errorType && typeName(errorType) },
    { name: 'itemId', label: 'Item', value: itemId },
  ] as const
  return filters.map(
    ({ name, label, value }) =>
      value !== undefined && (
        <Pill
          key={name}
          size="sm"
          withRemoveButton
          onRemove={() => setAddress(withItemFilter({ ...filter, [name]: undefined }))}
          removeButtonProps={{ 'aria-label': `Remove filter: ${label}`, 'aria-hidden': false, tabIndex: 0 }}
        >
          {label}: <ShownText text={value} />
        </Pill>
      ),
  )
}

/** The word for a value in a URL, or the value itself if there's no word for it. */
const wordFor = (words: Readonly<Record<string, string>>, value: string | undefined): string | undefined =>
  value === undefined ? undefined : (words[value] ?? value)
