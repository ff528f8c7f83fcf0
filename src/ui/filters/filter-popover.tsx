import { Popover, Text } from '@mantine/core'
import { useState } from 'react'
import { type Changes, type Filter, type Term, termsOf } from './filter.ts'
import { FilterEditor } from './filter-editor.tsx'
import classes from './filters.module.css'
import { OptionList } from './option-list.tsx'

interface FilterPopoverProps {
  /** The ID of the button that the popover belongs to. */
  labelledBy: string
  /** The filters to choose from. If there are several, the popover first asks which one to set. */
  filters: readonly Filter[]
  /** The term to edit. */
  term?: Term | undefined
  address: URLSearchParams
  onChange: (changes: Changes) => void
  onClose: () => void
}

/** A popover that sets a filter. It opens below the nearest positioned element. Clicking that element closes it. */
export function FilterPopover({ labelledBy, filters, term, address, onChange, onClose }: FilterPopoverProps) {
  const [chosen, setChosen] = useState<string | null>(null)
  const filter = filters.length === 1 ? filters[0] : filters.find(({ label }) => label === chosen)
  return (
    <Popover
      opened
      onChange={onClose}
      position="bottom-start"
      width={280}
      offset={4}
      shadow="md"
      trapFocus
      transitionProps={{ duration: 0 }}
    >
      <Popover.Target>
        <span className={classes.cover} aria-hidden onClick={onClose} />
      </Popover.Target>
      {/* A new key creates a new dropdown, which takes focus. */}
      <Popover.Dropdown key={chosen} p="xs" className={classes.editor} aria-labelledby={labelledBy}>
        {filter === undefined ? (
          <OptionList
            label="Filter by"
            options={filters.map(({ label }) => ({ value: label, label }))}
            onChoose={setChosen}
          />
        ) : (
          <>
            {chosen !== null && (
              <Text size="xs" fw={600} mb={6}>
                {filter.label}
              </Text>
            )}
            <FilterEditor
              filter={filter}
              // A metadata filter can have several terms, so this adds one.
              term={term ?? (filter.kind === 'metadata' ? undefined : termsOf(filter, address)[0])}
              address={address}
              onApply={changes => {
                onClose()
                onChange(changes)
              }}
            />
          </>
        )}
      </Popover.Dropdown>
    </Popover>
  )
}
