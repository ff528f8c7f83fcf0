import { Button, Group, Pill, Select, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { useSearchParams } from 'wouter'
import { ShownText } from '../json/shown-text.tsx'
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
  const errorType = address.get('errorType')
  const types = new Map([...(errorType ? [[errorType, errorType] as const] : []), ...typeNames])
  return (
    <Group gap="xs" align="end">
      <Select
        size="xs"
        w={150}
        label="Decision"
        placeholder="Any"
        clearable
        value={address.get('decision')}
        onChange={value => set('decision', value)}
        data={[
          { value: 'accept', label: 'Accepted' },
          { value: 'correct', label: 'Corrected' },
        ]}
      />
      <Select
        size="xs"
        w={220}
        label="Error type"
        placeholder="Any"
        clearable
        searchable
        value={errorType}
        onChange={value => set('errorType', value)}
        data={[...types].map(([value, label]) => ({ value, label }))}
      />
      <StepField
        key={address.get('stepId')}
        given={address.get('stepId') ?? ''}
        onGive={value => set('stepId', value)}
      />
      {filters
        .filter(([name]) => !FIELDS.includes(name))
        .map(([name, value]) => (
          <Pill
            key={name}
            size="sm"
            withRemoveButton
            onRemove={() => set(name, null)}
            removeButtonProps={{ 'aria-label': `Remove filter: ${LABELS[name]}`, 'aria-hidden': false, tabIndex: 0 }}
          >
            {LABELS[name]}: <ShownText text={shownValue(name, value, userNames)} />
          </Pill>
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
