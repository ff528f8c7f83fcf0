import { Box, Button } from '@mantine/core'
import { type RefObject, useId } from 'react'
import { IconPlus } from '../icons/index.ts'
import { KeyHint } from '../parts/key-hint.tsx'
import type { Changes, Filter } from './filter.ts'
import classes from './filters.module.css'
import { LateFilterPopover } from './late-filter-popover.tsx'

interface AddFilterProps {
  ref: RefObject<HTMLButtonElement | null>
  filters: readonly Filter[]
  address: URLSearchParams
  isOpen: boolean
  onOpen: (isOpen: boolean) => void
  onChange: (changes: Changes) => void
}

/** A button that lists the filters, and then asks for a value for the chosen filter. */
export function AddFilter({ ref, filters, address, isOpen, onOpen, onChange }: AddFilterProps) {
  const id = useId()
  return (
    <span className={classes.add}>
      <Button
        ref={ref}
        id={id}
        size="compact-sm"
        variant="default"
        leftSection={<IconPlus size={14} aria-hidden />}
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        onClick={() => onOpen(!isOpen)}
      >
        Add filter
        <Box component="span" visibleFrom="sm">
          <KeyHint keys={['F']} />
        </Box>
      </Button>
      {isOpen && (
        <LateFilterPopover
          labelledBy={id}
          filters={filters}
          address={address}
          onChange={onChange}
          onClose={() => {
            onOpen(false)
            ref.current?.focus()
          }}
        />
      )}
    </span>
  )
}
