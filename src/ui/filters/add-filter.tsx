import { Box, Button, Popover, Text } from '@mantine/core'
import { type RefObject, useState } from 'react'
import { IconPlus } from '../icons/index.ts'
import { KeyHint } from '../parts/key-hint.tsx'
import { EDITOR_POPOVER } from './editor-popover.ts'
import { type Filter, termsOf } from './filter.ts'
import { type Changes, FilterEditor } from './filter-editor.tsx'
import classes from './filters.module.css'
import { OptionList } from './option-list.tsx'

interface AddFilterProps {
  ref: RefObject<HTMLButtonElement | null>
  filters: readonly Filter[]
  address: URLSearchParams
  isOpen: boolean
  onOpen: (isOpen: boolean) => void
  onChange: (changes: Changes) => void
}

/** A button that lists the filters, and then asks for a value of the chosen one. */
export function AddFilter({ ref, filters, address, isOpen, onOpen, onChange }: AddFilterProps) {
  const [chosen, setChosen] = useState<string | null>(null)
  const filter = filters.find(({ label }) => label === chosen)
  const open = (isOpen: boolean) => {
    setChosen(null)
    onOpen(isOpen)
    if (!isOpen) ref.current?.focus()
  }
  return (
    <Popover {...EDITOR_POPOVER} opened={isOpen} onChange={open}>
      <Popover.Target>
        <Button
          ref={ref}
          size="compact-sm"
          variant="default"
          leftSection={<IconPlus size={14} aria-hidden />}
          onClick={() => open(!isOpen)}
        >
          Add filter
          <Box component="span" visibleFrom="sm">
            <KeyHint keys={['F']} />
          </Box>
        </Button>
      </Popover.Target>
      {/* A new dropdown moves the focus into it. */}
      <Popover.Dropdown key={chosen} p="xs" className={classes.editor}>
        {filter === undefined ? (
          <OptionList
            label="Filter by"
            options={filters.map(({ label }) => ({ value: label, label }))}
            onChoose={setChosen}
          />
        ) : (
          <>
            <Text size="xs" fw={600} mb={6}>
              {filter.label}
            </Text>
            <FilterEditor
              filter={filter}
              // Metadata can have several terms, so this adds one.
              term={filter.kind === 'metadata' ? undefined : termsOf(filter, address)[0]}
              address={address}
              onApply={changes => {
                open(false)
                onChange(changes)
              }}
            />
          </>
        )}
      </Popover.Dropdown>
    </Popover>
  )
}
