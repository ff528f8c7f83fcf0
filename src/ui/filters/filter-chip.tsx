import { CloseButton, UnstyledButton } from '@mantine/core'
import { useId, useRef, useState } from 'react'
import { IconChevronDown } from '../icons/index.ts'
import { ShownText } from '../json/shown-text.tsx'
import type { Changes, Filter, Term } from './filter.ts'
import classes from './filters.module.css'
import { LateFilterPopover } from './late-filter-popover.tsx'

interface FilterChipProps {
  filter: Filter
  /** Undefined if the filter isn't set. */
  term: Term | undefined
  address: URLSearchParams
  onChange: (changes: Changes) => void
  onRemove: (term: Term) => void
}

/** A filter to edit or to remove. */
export function FilterChip({ filter, term, address, onChange, onRemove }: FilterChipProps) {
  const [isOpen, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const id = useId()
  return (
    <span className={classes.chip} data-set={term !== undefined || undefined}>
      <UnstyledButton
        ref={button}
        id={id}
        className={classes.edit}
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {term ? (
          <>
            <span className={classes.label} dir="auto">
              <ShownText text={term.label} />:
            </span>{' '}
            <span dir="auto">
              <ShownText text={term.value} />
            </span>
          </>
        ) : (
          <>
            {filter.label} <IconChevronDown size={13} aria-hidden />
          </>
        )}
      </UnstyledButton>
      {isOpen && (
        <LateFilterPopover
          labelledBy={id}
          filters={[filter]}
          term={term}
          address={address}
          onChange={onChange}
          onClose={() => {
            setOpen(false)
            button.current?.focus()
          }}
        />
      )}
      {term && (
        <CloseButton
          size={18}
          iconSize={12}
          className={classes.remove}
          aria-label={`Remove filter: ${term.label}`}
          onClick={() => onRemove(term)}
        />
      )}
    </span>
  )
}
