import { Button, SegmentedControl, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { type FormEvent, useId, useState } from 'react'
import type { Changes, Filter, MetadataFilter, PeriodFilter, Term, TextFilter } from './filter.ts'
import { METADATA } from './filter.ts'
import { OptionList } from './option-list.tsx'
import { fieldsOf, isBackward, type Period, periodOf, recentPeriods } from './periods.ts'

interface EditorProps<Edited extends Filter> {
  filter: Edited
  /** The term to edit. Undefined for a new one. */
  term: Term | undefined
  address: URLSearchParams
  onApply: (changes: Changes) => void
}

/** Sets a filter's value. */
export function FilterEditor({ filter, ...props }: EditorProps<Filter>) {
  switch (filter.kind) {
    case 'choice':
      return (
        <OptionList
          label={filter.label}
          options={filter.options}
          chosen={props.address.get(filter.name)}
          onChoose={value => props.onApply({ [filter.name]: value })}
        />
      )
    case 'text':
      return <TextEditor filter={filter} {...props} />
    case 'period':
      return <PeriodEditor filter={filter} {...props} />
    case 'metadata':
      return <MetadataEditor filter={filter} {...props} />
  }
}

function TextEditor({
  filter: { label, name, partName, placeholder, suggestions },
  term,
  address,
  onApply,
}: EditorProps<TextFilter>) {
  const [edited, setEdited] = useState(term?.names[0] ?? partName ?? name)
  const [text, setText] = useState(address.get(edited) ?? '')
  const list = useId()
  const apply = (event: FormEvent) => {
    event.preventDefault()
    onApply({ [name]: null, ...(partName && { [partName]: null }), [edited]: text.trim() })
  }
  return (
    <Stack component="form" gap="xs" onSubmit={apply}>
      {partName !== undefined && (
        <SegmentedControl
          size="xs"
          aria-label={`How ${label.toLowerCase()} matches`}
          data={[
            { value: partName, label: 'Contains' },
            { value: name, label: 'Is' },
          ]}
          value={edited}
          onChange={setEdited}
        />
      )}
      <TextInput
        size="xs"
        label={label}
        placeholder={placeholder}
        list={suggestions && list}
        autoCapitalize="off"
        spellCheck={false}
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
        data-autofocus
      />
      {suggestions && (
        <datalist id={list}>
          {suggestions.map(suggestion => (
            <option key={suggestion} value={suggestion} />
          ))}
        </datalist>
      )}
      <Apply />
    </Stack>
  )
}

function PeriodEditor({ filter: { from, to, unit }, address, onApply }: EditorProps<PeriodFilter>) {
  const [fields, setFields] = useState(() => fieldsOf({ from: address.get(from), to: address.get(to) }, unit))
  const [isWrong, setWrong] = useState(false)
  const set = (period: Period) => onApply({ [from]: period.from, [to]: period.to })
  const apply = (event: FormEvent) => {
    event.preventDefault()
    const period = periodOf(fields, unit)
    if (isBackward(period)) setWrong(true)
    else set(period)
  }
  const field = (name: 'from' | 'to', label: string) => (
    <TextInput
      size="xs"
      type={unit === 'day' ? 'date' : 'datetime-local'}
      label={label}
      value={fields[name]}
      max={unit === 'day' ? '9999-12-31' : '9999-12-31T23:59'}
      error={isWrong && name === 'to' ? 'The end is before the start' : undefined}
      onChange={({ currentTarget }) => {
        setFields({ ...fields, [name]: currentTarget.value })
        setWrong(false)
      }}
    />
  )
  return (
    <Stack component="form" gap="xs" onSubmit={apply}>
      <SimpleGrid cols={2} spacing={4} verticalSpacing={4}>
        {recentPeriods(unit, Date.now()).map(({ label, period }, index) => (
          <Button
            key={label}
            size="compact-xs"
            variant="default"
            onClick={() => set(period)}
            {...(index === 0 && { 'data-autofocus': true })}
          >
            {label}
          </Button>
        ))}
      </SimpleGrid>
      {field('from', 'From')}
      {field('to', unit === 'day' ? 'Through' : 'To')}
      {unit === 'day' && (
        <Text size="xs" c="dimmed">
          Days are in UTC.
        </Text>
      )}
      <Apply />
    </Stack>
  )
}

function MetadataEditor({ term, address, onApply }: EditorProps<MetadataFilter>) {
  const edited = term?.names[0]
  const [path, setPath] = useState(edited?.slice(METADATA.length) ?? '')
  const [value, setValue] = useState(edited === undefined ? '' : (address.get(edited) ?? ''))
  const [isWrong, setWrong] = useState(false)
  const hint = useId()
  const apply = (event: FormEvent) => {
    event.preventDefault()
    const name = path.trim()
    if (name === '' || value.trim() === '') setWrong(true)
    else onApply({ ...(edited !== undefined && { [edited]: null }), [METADATA + name]: value.trim() })
  }
  const missing = (text: string) => (isWrong && text.trim() === '' ? 'Required' : undefined)
  const plain = { size: 'xs', autoCapitalize: 'off', spellCheck: false } as const
  return (
    <Stack component="form" gap="xs" onSubmit={apply}>
      <TextInput
        {...plain}
        label="Field"
        placeholder="customer.tier"
        aria-describedby={hint}
        value={path}
        error={missing(path)}
        onChange={({ currentTarget }) => setPath(currentTarget.value)}
        data-autofocus
      />
      <TextInput
        {...plain}
        label="Value"
        placeholder="gold"
        value={value}
        error={missing(value)}
        onChange={({ currentTarget }) => setValue(currentTarget.value)}
      />
      <Text id={hint} size="xs" c="dimmed">
        The path of a metadata field, with dots.
      </Text>
      <Apply />
    </Stack>
  )
}

const Apply = () => (
  <Button type="submit" size="xs">
    Apply
  </Button>
)
