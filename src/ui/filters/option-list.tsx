import { Combobox, TextInput, useCombobox } from '@mantine/core'
import { useEffect, useState } from 'react'
import { ShownText } from '../json/shown-text.tsx'
import type { Option } from './filter.ts'
import classes from './filters.module.css'

interface OptionListProps {
  label: string
  options: readonly Option[]
  chosen?: string | null
  onChoose: (value: string) => void
}

/** Options to choose from by typing, with the arrow keys, or with the pointer. */
export function OptionList({ label, options, chosen = null, onChoose }: OptionListProps) {
  const [text, setText] = useState('')
  const list = useCombobox({ opened: true })
  const found = options.filter(option => option.label.toLowerCase().includes(text.trim().toLowerCase()))
  // biome-ignore lint/correctness/useExhaustiveDependencies: Enter takes the first match for the new text
  useEffect(() => {
    list.selectFirstOption()
  }, [text])
  return (
    <Combobox store={list} onOptionSubmit={onChoose} size="xs">
      <Combobox.EventsTarget withExpandedAttribute>
        <TextInput
          size="xs"
          aria-label={label}
          placeholder={`${label}…`}
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
          data-autofocus
        />
      </Combobox.EventsTarget>
      <Combobox.Options className={classes.options} aria-label={label}>
        {found.map(option => (
          <Combobox.Option key={option.value} value={option.value} active={option.value === chosen}>
            <ShownText text={option.label} />
          </Combobox.Option>
        ))}
        {found.length === 0 && <Combobox.Empty>No matches</Combobox.Empty>}
      </Combobox.Options>
    </Combobox>
  )
}
