import { useDebouncedCallback } from '@mantine/hooks'
import { useEffect, useState } from 'react'
import { useSearchParams } from 'wouter'
import { withParameters } from '../parts/parameters.ts'
import { countFilters, type FilterName, metadataName } from './filters.ts'

const TYPING_MS = 400

/** The filters in the URL, and functions to change them. */
export function useFilters() {
  const [address, change] = useSearchParams()
  return {
    address,
    change,
    /** The number of filters that are set. */
    active: countFilters(address),
    /** Sets a filter, or removes it if the value is null or ''. */
    set: (name: FilterName, value: string | null) => change(withParameters({ [name]: value })),
    /** Sets a metadata filter, or removes it if the value is null. */
    setMetadata: (path: string, value: string | null) => change(withParameters({ [metadataName(path)]: value })),
  }
}

/** The text in a filter's field, and a function to change it. It applies after a pause in typing. */
export function useTypedFilter(name: FilterName): [text: string, type: (text: string) => void] {
  const { address, change } = useFilters()
  const given = address.get(name) ?? ''
  const [text, setText] = useState(given)
  const apply = useDebouncedCallback(
    (value: string) => change(withParameters({ [name]: value.trim() }), { replace: true }),
    TYPING_MS,
  )
  useEffect(() => {
    apply.cancel()
    // The URL leaves out trailing spaces.
    setText(current => (current.trim() === given ? current : given))
  }, [given, apply])
  const type = (value: string) => {
    setText(value)
    apply(value)
  }
  return [text, type]
}
