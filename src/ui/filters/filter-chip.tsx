import { CloseButton, Popover, UnstyledButton } from '@mantine/core'
import { useRef, useState } from 'react'
import { IconChevronDown } from '../icons/index.ts'
import { ShownText } from '../json/shown-text.tsx'
import { EDITOR_POPOVER } from './editor-popover.ts'
import type { Filter, Term } from './filter.ts'
import { type Changes, FilterEditor } from './filter-editor.tsx'
import classes from './filters.module.css'

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
  const close = () => {
    setOpen(false)
    button.current?.focus()
  }
  return (
    <span className={classes.chip} data-set={term !== undefined || undefined}>
      <Popover {...EDITOR_POPOVER} opened={isOpen} onChange={close}>
        <Popover.Target>
          <UnstyledButton ref={button} className={classes.edit} onClick={() => setOpen(!isOpen)}>
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
        </Popover.Target>
        <Popover.Dropdown p="xs" className={classes.editor}>
          <FilterEditor
            filter={filter}
            term={term}
            address={address}
            onApply={changes => {
              close()
              onChange(changes)
            }}
          />
        </Popover.Dropdown>
      </Popover>
      {term && (
        <CloseButton
          size={18}
          iconSize={12}
          aria-label={`Remove filter: ${term.label}`}
          onClick={() => onRemove(term)}
        />
      )}
    </span>
  )
}
