import { Button } from '@mantine/core'
import { type ReactNode, useRef, useState } from 'react'
import { useSearchParams } from 'wouter'
import type { Shortcut } from '../parts/keys.ts'
import { withParameters } from '../parts/parameters.ts'
import { usePreload } from '../parts/settled.ts'
import { handle, useKeys } from '../parts/use-keys.ts'
import { AddFilter } from './add-filter.tsx'
import { type Changes, type Filter, type Term, termsOf } from './filter.ts'
import { FilterChip } from './filter-chip.tsx'
import classes from './filters.module.css'
import { loadFilterPopover } from './late-filter-popover.tsx'
import { SearchField } from './search-field.tsx'

const KEYS: readonly Shortcut<'add' | 'search'>[] = [
  { keys: ['F'], command: 'add', label: 'Add a filter' },
  { keys: ['/'], command: 'search', label: 'Search' },
]

interface FilterBarProps {
  filters: readonly Filter[]
  /** The labels of the filters that are visible even if they aren't set. */
  pinned?: readonly string[]
  /** The parameter for the text to search for, if the list has one. */
  searchName?: string
  /** A parameter for a position in the list. Changing the filters removes it. */
  placeName?: string
  /** Removes all filters from a URL. */
  onClear: (address: URLSearchParams) => URLSearchParams
  /** Other controls for the list, at the end of the bar. */
  children?: ReactNode
}

/** A list's filters, all stored in the URL. F adds a filter, and / starts a search. */
export function FilterBar({ filters, pinned = [], searchName, placeName, onClear, children }: FilterBarProps) {
  const [address, setAddress] = useSearchParams()
  const [isAdding, setAdding] = useState(false)
  const search = useRef<HTMLInputElement>(null)
  const add = useRef<HTMLButtonElement>(null)
  const elsewhere: Changes = placeName === undefined ? {} : { [placeName]: null }
  const change = (changes: Changes) => setAddress(withParameters({ ...changes, ...elsewhere }))
  const remove = (next: (address: URLSearchParams) => URLSearchParams) => {
    setAddress(next)
    // The pressed button disappears, so focus would be lost.
    add.current?.focus()
  }
  const isPinned = ({ label }: Filter) => pinned.includes(label)
  const given = searchName === undefined ? '' : (address.get(searchName) ?? '')
  const terms = filters.flatMap(filter => termsOf(filter, address))
  useKeys(KEYS, {
    add: () => handle(() => setAdding(true)),
    search: () => search.current !== null && handle(() => search.current?.focus()),
  })
  usePreload(loadFilterPopover)
  const chip = { address, onChange: change }
  const chipOf = (filter: Filter, term: Term | undefined) => (
    <FilterChip
      key={term ? term.names.join(' ') : filter.label}
      filter={filter}
      term={term}
      onRemove={({ names }) =>
        remove(withParameters({ ...Object.fromEntries(names.map(name => [name, null])), ...elsewhere }))
      }
      {...chip}
    />
  )
  return (
    <search aria-label="Filters" className={classes.bar}>
      {searchName !== undefined && (
        <SearchField ref={search} given={given} onSearch={text => change({ [searchName]: text })} />
      )}
      {filters.filter(isPinned).map(filter => chipOf(filter, termsOf(filter, address)[0]))}
      {terms.filter(({ filter }) => !isPinned(filter)).map(term => chipOf(term.filter, term))}
      <AddFilter
        ref={add}
        filters={filters.filter(filter => !isPinned(filter))}
        isOpen={isAdding}
        onOpen={setAdding}
        {...chip}
      />
      {(terms.length > 0 || given !== '') && (
        <Button size="compact-sm" variant="subtle" onClick={() => remove(onClear)}>
          Clear filters
        </Button>
      )}
      {children && <div className={classes.others}>{children}</div>}
    </search>
  )
}
