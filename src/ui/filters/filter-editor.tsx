import { Button, SegmentedControl, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { type FormEvent, useId, useState } from 'react'
import type { Changes, EitherFilter, Filter, MetadataFilter, PeriodFilter, Term, TextFilter } from './filter.ts'
import { METADATA, namesOf } from './filter.ts'
import { OptionList } from './option-list.tsx'
import { fieldsOf, isBackward, type Period, periodOf, recentPeriods } from './periods.ts'

interface EditorProps<Edited extends Filter> {
  filter: Edited
  /** The term to edit. Undefined for a new term. */
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
    case 'either':
      return <EitherEditor filter={filter} {...props} />
    case 'text':
      return <TextEditor filter={filter} {...props} />
    case 'period':
      return <PeriodEditor filter={filter} {...props} />
    case 'metadata':
      return <MetadataEditor filter={filter} {...props} />
  }
}

function EitherEditor({ filter, term, address, onApply }: EditorProps<EitherFilter>) {
  const keyOf = (name: string, value: string) => `${name}=${value}`
  const edited = term?.names[0]
  const none = Object.fromEntries(namesOf(filter).map(name => [name, null]))
  return (
    <OptionList
      label={filter.label}
      options={filter.options.map(({ name, value, label }) => ({ value: keyOf(name, value), label }))}
      chosen={edited === undefined ? null : keyOf(edited, address.get(edited) ?? '')}
      onChoose={key => {
        const option = filter.options.find(({ name, value }) => keyOf(name, value) === key)
        if (option) onApply({ ...none, [option.name]: option.value })
      }}
    />
  )
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
      <Apply isDisabled={text.trim() === ''} />
    </Stack>
  )
}

function PeriodEditor({ filter: { from, to, unit }, term, address, onApply }: EditorProps<PeriodFilter>) {
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
      <Apply isDisabled={!term && fields.from === '' && fields.to === ''} />
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
        placeholder="e.g. customer.tier"
        aria-describedby={hint}
        value={path}
        error={missing(path)}
        onChange={({ currentTarget }) => setPath(currentTarget.value)}
        data-autofocus
      />
      <TextInput
        {...plain}
        label="Value"
        placeholder="e.g. gold"
        value={value}
        error={missing(value)}
        onChange={({ currentTarget }) => setValue(currentTarget.value)}
      />
      <Text id={hint} size="xs" c="dimmed">
        The field's path, with dots between the names.
      </Text>
      <Apply />
    </Stack>
  )
}

const Apply = ({ isDisabled = false }) => (
  <Button type="submit" size="xs" disabled={isDisabled}>
    Apply
  </Button>
)
