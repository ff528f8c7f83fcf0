import { Box, Button, Checkbox, Group, Pill, Select, type SelectProps, Skeleton, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { errorTypesQuery } from '../api/error-types.ts'
import { IconFilter, IconFilterOff } from '../icons/index.ts'
import { ShownText } from '../json/shown-text.tsx'
import { useProject } from '../session/project.ts'
import classes from './filter-bar.module.css'
import { type FilterName, metadataFilters, withoutTraceFilters } from './filters.ts'
import { MetadataInput } from './metadata-input.tsx'
import { useFilters, useTypedFilter } from './use-filters.ts'

/** The calendars are large, so they load separately. */
const TimeInput = lazy(async () => ({ default: (await import('./time-input.tsx')).TimeInput }))

/** The list's filters, all stored in the URL. */
export function FilterBar() {
  const { address, change, active, set, setMetadata } = useFilters()
  const [isOpen, { toggle }] = useDisclosure()
  const clear = active > 0 && (
    <Button
      size="compact-sm"
      variant="subtle"
      leftSection={<IconFilterOff size={14} aria-hidden />}
      onClick={() => change(withoutTraceFilters)}
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
        {CHOICES.map(choice => (
          <Choice key={choice.name} {...choice} />
        ))}
        <ErrorTypeFilter />
        <Suspense fallback={<Skeleton className={classes.times} h={47} />}>
          <TimeInput label="From" value={address.get('from')} onChange={time => set('from', time)} />
          <TimeInput label="To" value={address.get('to')} onChange={time => set('to', time)} />
        </Suspense>
        <MetadataInput onAdd={({ path, value }) => setMetadata(path, value)} />
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
      <Chips />
    </search>
  )
}

/** The filters that have no field of their own. */
function Chips() {
  const { address, set, setMetadata } = useFilters()
  const metadata = metadataFilters(address)
  const version = address.get('promptVersionId')
  if (version === null && metadata.length === 0) return null
  return (
    <Group gap={6}>
      {version !== null && <Chip label={`prompt version ${version}`} onRemove={() => set('promptVersionId', null)} />}
      {metadata.map(({ path, value }) => (
        <Chip key={`${path}=${value}`} label={`${path}=${value}`} onRemove={() => setMetadata(path, null)} />
      ))}
    </Group>
  )
}

const CHOICES: readonly ChoiceProps[] = [
  {
    name: 'status',
    label: 'Status',
    options: [
      { value: 'running', label: 'Running' },
      { value: 'completed', label: 'Completed' },
    ],
  },
  {
    name: 'review',
    label: 'Review',
    options: [
      { value: 'unreviewed', label: 'Unreviewed' },
      { value: 'mixed', label: 'Partly reviewed' },
      { value: 'accepted', label: 'Accepted' },
      { value: 'corrected', label: 'Corrected' },
    ],
  },
  {
    name: 'hasFeedback',
    label: 'Feedback',
    options: [
      { value: 'true', label: 'With feedback' },
      { value: 'false', label: 'Without feedback' },
    ],
  },
  {
    name: 'rating',
    label: 'Rating',
    options: [
      { value: 'positive', label: 'Positive' },
      { value: 'negative', label: 'Negative' },
    ],
  },
]

interface ChoiceProps extends Omit<SelectProps, 'data'> {
  name: FilterName
  label: string
  options: { value: string; label: string }[]
}

function Choice({ name, label, options, ...props }: ChoiceProps) {
  const { address, set } = useFilters()
  return (
    <Select
      size="xs"
      label={label}
      placeholder="Any"
      data={options}
      value={address.get(name)}
      onChange={chosen => set(name, chosen)}
      clearable
      clearButtonProps={{ 'aria-label': `Any ${label.toLowerCase()}` }}
      {...props}
    />
  )
}

function ErrorTypeFilter() {
  const { data } = useQuery(errorTypesQuery(useProject()))
  const value = useFilters().address.get('errorType')
  const types = (data?.errorTypes ?? []).map(({ errorType, name }) => ({ value: errorType, label: name }))
  const isKnown = value === null || types.some(type => type.value === value)
  return (
    <Choice
      name="errorType"
      label="Error type"
      options={isKnown ? types : [...types, { value, label: value }]}
      searchable
      comboboxProps={{ width: 220, position: 'bottom-start' }}
    />
  )
}

/** A text filter that applies after a pause in typing. */
function TextFilter({ name, label, placeholder }: { name: FilterName; label: string; placeholder: string }) {
  const [text, type] = useTypedFilter(name)
  return (
    <TextInput
      size="xs"
      label={label}
      placeholder={placeholder}
      value={text}
      onChange={({ currentTarget }) => type(currentTarget.value)}
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
