import { Box, Button, Checkbox, Group, Pill, Select, Skeleton, Text, TextInput } from '@mantine/core'
import { useDebouncedCallback, useDisclosure } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useState } from 'react'
import { useSearchParams } from 'wouter'
import { errorTypesQuery } from '../api/error-types.ts'
import { IconFilter, IconFilterOff } from '../icons/index.ts'
import { ShownText } from '../json/shown-text.tsx'
import { useProject } from '../session/project.ts'
import classes from './filter-bar.module.css'
import {
  countFilters,
  type FilterName,
  metadataFilters,
  withFilter,
  withMetadata,
  withoutFilters,
  withoutMetadata,
} from './filters.ts'
import { MetadataInput } from './metadata-input.tsx'

/** The calendars are large, so they load separately. */
const TimeInput = lazy(async () => ({ default: (await import('./time-input.tsx')).TimeInput }))

const TYPING_MS = 400

/** The list's filters, all stored in the URL. */
export function FilterBar() {
  const [address, setAddress] = useSearchParams()
  const [isOpen, { toggle }] = useDisclosure()
  const active = countFilters(address)
  const set = (name: FilterName, value: string | null) => setAddress(current => withFilter(current, name, value))
  const metadata = metadataFilters(address)
  const version = address.get('promptVersionId')
  const clear = active > 0 && (
    <Button
      size="compact-sm"
      variant="subtle"
      leftSection={<IconFilterOff size={14} aria-hidden />}
      onClick={() => setAddress(withoutFilters)}
    >
      Clear filters
    </Button>
  )
  return (
    <search aria-label="Filters" className={classes.bar}>
      <Group gap="xs" hiddenFrom="sm" justify="space-between">
        <Button
          size="xs"
          variant="default"
          aria-expanded={isOpen}
          leftSection={<IconFilter size={14} aria-hidden />}
          onClick={toggle}
        >
          Filters{active > 0 && ` (${active})`}
        </Button>
        {clear}
      </Group>
      <div className={classes.fields} data-open={isOpen || undefined}>
        <TextFilter name="name" label="Name" placeholder="Exact name" />
        <TextFilter name="stepId" label="Step" placeholder="Exact step" />
        <Choice name="status" label="Status" options={STATUSES} onChange={set} value={address.get('status')} />
        <Choice name="review" label="Review" options={REVIEWS} onChange={set} value={address.get('review')} />
        <Choice
          name="hasFeedback"
          label="Feedback"
          options={FEEDBACK}
          onChange={set}
          value={address.get('hasFeedback')}
        />
        <Choice name="rating" label="Rating" options={RATINGS} onChange={set} value={address.get('rating')} />
        <ErrorTypeFilter value={address.get('errorType')} onChange={set} />
        <Suspense fallback={<Skeleton className={classes.times} h={47} />}>
          <TimeInput label="From" value={address.get('from')} onChange={time => set('from', time)} />
          <TimeInput label="To" value={address.get('to')} onChange={time => set('to', time)} />
        </Suspense>
        <MetadataInput onAdd={filter => setAddress(current => withMetadata(current, filter))} />
        <Checkbox
          size="xs"
          className={classes.check}
          label="Include non-AI spans"
          title="Also show telemetry that isn't a step of an AI pipeline"
          checked={address.get('kind') === 'all'}
          onChange={({ currentTarget }) => set('kind', currentTarget.checked ? 'all' : null)}
        />
        <Box visibleFrom="sm">{clear}</Box>
      </div>
      {(version !== null || metadata.length > 0) && (
        <Group gap={6}>
          {version !== null && (
            <Chip label={`prompt version ${version}`} onRemove={() => set('promptVersionId', null)} />
          )}
          {metadata.map(filter => (
            <Chip
              key={`${filter.path}=${filter.value}`}
              label={`${filter.path}=${filter.value}`}
              onRemove={() => setAddress(current => withoutMetadata(current, filter.path))}
            />
          ))}
        </Group>
      )}
    </search>
  )
}

const STATUSES = [
  { value: 'running', label: 'Running' },
  { value: 'completed', label: 'Completed' },
]
const REVIEWS = [
  { value: 'unreviewed', label: 'Unreviewed' },
  { value: 'mixed', label: 'Partly reviewed' },
  { value: 'accepted', label: 'Accepted' },
  { value: 'corrected', label: 'Corrected' },
]
const FEEDBACK = [
  { value: 'true', label: 'With feedback' },
  { value: 'false', label: 'Without feedback' },
]
const RATINGS = [
  { value: 'positive', label: 'Positive' },
  { value: 'negative', label: 'Negative' },
]

interface ChoiceProps {
  name: FilterName
  label: string
  value: string | null
  options: { value: string; label: string }[]
  onChange: (name: FilterName, value: string | null) => void
}

const Choice = ({ name, label, value, options, onChange }: ChoiceProps) => (
  <Select
    size="xs"
    label={label}
    placeholder="Any"
    data={options}
    value={value}
    onChange={chosen => onChange(name, chosen)}
    clearable
    clearButtonProps={{ 'aria-label': `Any ${label.toLowerCase()}` }}
  />
)

function ErrorTypeFilter({ value, onChange }: Pick<ChoiceProps, 'value' | 'onChange'>) {
  const { data } = useQuery(errorTypesQuery(useProject()))
  const types = (data?.errorTypes ?? []).map(({ errorType, name }) => ({ value: errorType, label: name }))
  const isKnown = value === null || types.some(type => type.value === value)
  return (
    <Select
      size="xs"
      label="Error type"
      placeholder="Any"
      data={isKnown ? types : [...types, { value, label: value }]}
      value={value}
      onChange={chosen => onChange('errorType', chosen)}
      searchable
      clearable
      clearButtonProps={{ 'aria-label': 'Any error type' }}
      comboboxProps={{ width: 220, position: 'bottom-start' }}
    />
  )
}

/** A text filter that applies after a pause in typing. */
function TextFilter({ name, label, placeholder }: { name: FilterName; label: string; placeholder: string }) {
  const [address, setAddress] = useSearchParams()
  const given = address.get(name) ?? ''
  const [text, setText] = useState(given)
  const take = useDebouncedCallback(
    (value: string) => setAddress(current => withFilter(current, name, value.trim()), { replace: true }),
    TYPING_MS,
  )
  useEffect(() => {
    take.cancel()
    // The URL leaves out trailing spaces.
    setText(current => (current.trim() === given ? current : given))
  }, [given, take])
  return (
    <TextInput
      size="xs"
      label={label}
      placeholder={placeholder}
      value={text}
      onChange={({ currentTarget }) => {
        setText(currentTarget.value)
        take(currentTarget.value)
      }}
    />
  )
}

const Chip = ({ label, onRemove }: { label: string; onRemove: () => void }) => (
  <Pill
    withRemoveButton
    onRemove={onRemove}
    removeButtonProps={{ 'aria-label': `Remove filter ${label}`, 'aria-hidden': false, tabIndex: 0 }}
    className={classes.chip}
  >
    <Text span inherit dir="auto">
      <ShownText text={label} />
    </Text>
  </Pill>
)
