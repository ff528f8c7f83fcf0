import { Autocomplete, Group, Select, TextInput } from '@mantine/core'
import { type KeyboardEvent, useEffect, useState } from 'react'
import { IconListTree } from '../icons/index.ts'
import classes from './filter-bar.module.css'
import { ORDERS, type QueueFilter } from './filters.ts'

interface FilterBarProps {
  filter: QueueFilter
  onChange: (filter: QueueFilter) => void
  /** Suggested steps. */
  steps: readonly string[]
}

/** Filters and orders the queue. */
export function FilterBar({ filter, onChange, steps }: FilterBarProps) {
  const [stepId, setStepId] = useState(filter.stepId)
  const [name, setName] = useState(filter.name)
  useEffect(() => setStepId(filter.stepId), [filter.stepId])
  useEffect(() => setName(filter.name), [filter.name])
  const apply = (change: Partial<QueueFilter>) => {
    const next = { ...filter, stepId: stepId.trim(), name: name.trim(), ...change }
    if (next.order !== filter.order || next.stepId !== filter.stepId || next.name !== filter.name) onChange(next)
  }
  const onKeyDown = ({ key }: KeyboardEvent) => key === 'Enter' && apply({})
  return (
    <Group gap="xs" wrap="nowrap" flex="1 1 auto">
      <Select
        aria-label="Order"
        size="xs"
        className={classes.field}
        data={[...ORDERS]}
        value={filter.order}
        allowDeselect={false}
        onChange={chosen => apply({ order: ORDERS.find(({ value }) => value === chosen)?.value ?? ORDERS[0].value })}
      />
      <Autocomplete
        aria-label="Step"
        size="xs"
        className={classes.field}
        placeholder="Any step"
        clearable
        data={[...steps]}
        value={stepId}
        onChange={setStepId}
        onOptionSubmit={chosen => apply({ stepId: chosen })}
        onClear={() => apply({ stepId: '' })}
        onBlur={() => apply({})}
        onKeyDown={onKeyDown}
      />
      <TextInput
        aria-label="Trace name"
        size="xs"
        className={classes.field}
        placeholder="Any trace name"
        leftSection={<IconListTree size={14} aria-hidden />}
        value={name}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
        onBlur={() => apply({})}
        onKeyDown={onKeyDown}
      />
    </Group>
  )
}
