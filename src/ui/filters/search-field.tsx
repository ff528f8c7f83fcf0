import { CloseButton, TextInput } from '@mantine/core'
import { type Ref, useEffect, useState } from 'react'
import { IconSearch } from '../icons/index.ts'
import classes from './filters.module.css'

const MIN_LENGTH = 3

interface SearchFieldProps {
  ref: Ref<HTMLInputElement>
  /** The text in the URL. */
  given: string
  onSearch: (text: string | null) => void
}

/** A text search. It starts on Enter, because each search reads many traces. */
export function SearchField({ ref, given, onSearch }: SearchFieldProps) {
  const [text, setText] = useState(given)
  const [isShort, setShort] = useState(false)
  useEffect(() => setText(given), [given])
  const wanted = text.trim()
  return (
    <form
      className={classes.search}
      onSubmit={event => {
        event.preventDefault()
        const isTooShort = wanted !== '' && [...wanted].length < MIN_LENGTH
        setShort(isTooShort)
        if (!isTooShort) onSearch(wanted || null)
      }}
    >
      <TextInput
        ref={ref}
        size="xs"
        aria-label="Search text"
        placeholder="Search text, then press Enter"
        enterKeyHint="search"
        leftSection={<IconSearch size={14} aria-hidden />}
        value={text}
        error={isShort && `Enter at least ${MIN_LENGTH} characters`}
        onChange={({ currentTarget }) => {
          setText(currentTarget.value)
          setShort(false)
        }}
        rightSection={
          (text !== '' || given !== '') && (
            <CloseButton
              size="xs"
              aria-label="Clear search"
              onClick={() => {
                setText('')
                setShort(false)
                if (given !== '') onSearch(null)
              }}
            />
          )
        }
      />
    </form>
  )
}
