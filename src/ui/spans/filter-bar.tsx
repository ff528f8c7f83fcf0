import { Button, Group, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { useSearchParams } from 'wouter'
import { FilterPill } from '../parts/filter-pill.tsx'
import { DECISION_OPTIONS, FilterSelect } from '../parts/filter-select.tsx'
import { withParameters } from '../parts/parameters.ts'
import { filtersIn, type SpanFilterName, withoutSpanFilters } from './filters.ts'

/** Filters that the bar has a field for. */
const FIELDS: readonly SpanFilterName[] = ['decision', 'errorType', 'stepId']

const LABELS: Partial<Record<SpanFilterName, string>> = {
  reviewerId: 'Reviewer',
  promptVersionId: 'Prompt version',
  model: 'Model',
  review: 'Review',
  hasOutput: 'Has output',
  reviewedFrom: 'Decided from',
  reviewedTo: 'Decided before',
  from: 'Traces from',
  to: 'Traces before',
}

interface FilterBarProps {
  typeNames: ReadonlyMap<string, string>
  userNames: ReadonlyMap<string, string>
}

/** The list's filters. Those that come from a link, such as a period, can only be removed. */
export function FilterBar({ typeNames, userNames }: FilterBarProps) {
  const [address, change] = useSearchParams()
  const set = (name: SpanFilterName, value: string | null) => change(withParameters({ [name]: value }))
  const filters = filtersIn(address)
  return (
    <Group gap="xs" align="end">
      <FilterSelect name="decision" label="Decision" width={150} options={DECISION_OPTIONS} />
      <FilterSelect
        name="errorType"
        label="Error type"
        width={220}
        options={[...typeNames].map(([value, label]) => ({ value, label }))}
        isSearchable
      />
      <StepField
        key={address.get('stepId')}
        given={address.get('stepId') ?? ''}
        onGive={value => set('stepId', value)}
      />
      {filters
        .filter(([name]) => !FIELDS.includes(name))
        .map(([name, value]) => (
          <FilterPill key={name} name={name} label={LABELS[name] ?? name} value={shownValue(name, value, userNames)} />
        ))}
      {filters.length > 0 && (
        <Button size="xs" variant="subtle" onClick={() => change(withoutSpanFilters)}>
          Clear filters
        </Button>
      )}
    </Group>
  )
}

/** A filter's value in words. Times are at midnight UTC. */
function shownValue(name: SpanFilterName, value: string, userNames: ReadonlyMap<string, string>): string {
  if (name === 'reviewerId') return userNames.get(value) ?? value
  return value.endsWith('T00:00:00.000Z') ? value.slice(0, 10) : value
}

/** The step's name. It applies on Enter or when the field loses focus. */
function StepField({ given, onGive }: { given: string; onGive: (value: string) => void }) {
  const [text, setText] = useState(given)
  const give = (event?: FormEvent) => {
    event?.preventDefault()
    if (text.trim() !== given) onGive(text.trim())
  }
  return (
    <form onSubmit={give}>
      <TextInput
        size="xs"
        w={180}
        label="Step"
        placeholder="Any"
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
        onBlur={() => give()}
      />
    </form>
  )
}
