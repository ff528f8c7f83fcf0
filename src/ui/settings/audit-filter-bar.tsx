import '@mantine/dates/styles.css'
import { Button, Group, Select } from '@mantine/core'
import { DatePickerInput } from '@mantine/dates'
import { useSearchParams } from 'wouter'
import { IconX } from '../icons/index.ts'
import { withParameters } from '../parts/parameters.ts'
import { AUDIT_ACTION_OPTIONS } from './audit-actions.ts'
import { type AuditFilters, NO_AUDIT_FILTERS } from './audit-filters.ts'
import { dayOf, nextDay, previousDay, startOfDay } from './days.ts'
import { useAllKeys, useAllUsers } from './use-all.ts'

interface AuditFilterBarProps {
  filters: AuditFilters
  names: ReadonlyMap<string, string>
}

/** Filters the log. The filters are stored in the URL. */
export function AuditFilterBar({ filters, names }: AuditFilterBarProps) {
  const [, setParameters] = useSearchParams()
  const change = (changes: Partial<AuditFilters>) => setParameters(withParameters(changes))
  const { action, from, to } = filters
  return (
    <Group gap="xs" align="end">
      <Select
        label="Action"
        placeholder="Any"
        size="xs"
        w={210}
        data={AUDIT_ACTION_OPTIONS}
        searchable
        clearable
        value={action}
        onChange={chosen => change({ action: chosen })}
      />
      <WhoSelect filters={filters} names={names} onChange={change} />
      <DatePickerInput
        label="From"
        placeholder="Any date"
        size="xs"
        w={150}
        clearable
        value={isTime(from) ? dayOf(from) : null}
        onChange={day => change({ from: day === null ? null : startOfDay(day) })}
      />
      <DatePickerInput
        label="To"
        placeholder="Any date"
        size="xs"
        w={150}
        clearable
        value={isTime(to) ? previousDay(to) : null}
        onChange={day => change({ to: day === null ? null : nextDay(day) })}
      />
      {filters.targetId !== null && (
        <Button
          size="xs"
          variant="default"
          rightSection={<IconX size={14} aria-hidden />}
          onClick={() => change({ targetId: null })}
          aria-label="Remove target filter"
        >
          Target: {names.get(filters.targetId) ?? filters.targetId.slice(0, 8)}
        </Button>
      )}
      {Object.values(filters).some(value => value !== null) && (
        <Button size="xs" variant="subtle" onClick={() => change(NO_AUDIT_FILTERS)}>
          Clear filters
        </Button>
      )}
    </Group>
  )
}

const isTime = (text: string | null): text is string => text !== null && !Number.isNaN(Date.parse(text))

interface WhoSelectProps extends AuditFilterBarProps {
  onChange: (changes: Partial<AuditFilters>) => void
}

/** Filters by a user or a key. */
function WhoSelect({ filters: { userId, keyId }, names, onChange }: WhoSelectProps) {
  const people = useAllUsers().map(({ id, name, email }) => ({ value: `user ${id}`, label: name || email }))
  const keyOptions = useAllKeys().map(({ id, name, prefix }) => ({ value: `key ${id}`, label: `${name} (${prefix}…)` }))
  const chosen = userId !== null ? `user ${userId}` : keyId !== null ? `key ${keyId}` : null
  const isListed = [...people, ...keyOptions].some(({ value }) => value === chosen)
  const id = userId ?? keyId
  const others =
    chosen === null || id === null || isListed ? [] : [{ value: chosen, label: names.get(id) ?? id.slice(0, 8) }]
  const choose = (value: string | null) => {
    const [kind, chosenId = null] = value?.split(' ') ?? []
    onChange({ userId: kind === 'user' ? chosenId : null, keyId: kind === 'key' ? chosenId : null })
  }
  return (
    <Select
      label="Who"
      placeholder="Anyone"
      size="xs"
      w={210}
      data={[
        { group: 'Users', items: [...people, ...others] },
        { group: 'Keys', items: keyOptions },
      ]}
      searchable
      clearable
      nothingFoundMessage="No match"
      value={chosen}
      onChange={choose}
    />
  )
}
