import { Pill } from '@mantine/core'
import { useSearchParams } from 'wouter'
import { ShownText } from '../json/shown-text.tsx'
import { withParameters } from './parameters.ts'

interface FilterPillProps {
  /** The name of the URL parameter. */
  name: string
  label: string
  /** The filter's value in words. */
  value: string
}

/** A filter that comes from a link and can only be removed. */
export function FilterPill({ name, label, value }: FilterPillProps) {
  const [, change] = useSearchParams()
  return (
    <Pill
      size="sm"
      withRemoveButton
      onRemove={() => change(withParameters({ [name]: null }))}
      removeButtonProps={{ 'aria-label': `Remove filter: ${label}`, 'aria-hidden': false, tabIndex: 0 }}
    >
      {label}: <ShownText text={value} />
    </Pill>
  )
}
