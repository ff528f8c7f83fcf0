import { useSearchParams } from 'wouter'
import { LateSelect } from './late-select.tsx'
import { withParameters } from './parameters.ts'

interface FilterSelectProps {
  /** The URL's parameter. */
  name: string
  label: string
  /** Pixels. */
  width: number
  options: readonly { value: string; label: string }[]
  isSearchable?: boolean
}

/** A filter in the URL: one of several values, or any. A linked value that isn't an option shows as it is. */
export function FilterSelect({ name, label, width, options, isSearchable = false }: FilterSelectProps) {
  const [address, change] = useSearchParams()
  const chosen = address.get(name)
  const isOption = chosen === null || options.some(({ value }) => value === chosen)
  return (
    <LateSelect
      size="xs"
      w={width}
      label={label}
      placeholder="Any"
      clearable
      searchable={isSearchable}
      value={chosen}
      onChange={value => change(withParameters({ [name]: value }))}
      data={isOption ? [...options] : [{ value: chosen, label: chosen }, ...options]}
    />
  )
}

export const DECISION_OPTIONS = [
  { value: 'accept', label: 'Accepted' },
  { value: 'correct', label: 'Corrected' },
] as const
