import { count } from './format.ts'
import { TextLink } from './text-link.tsx'

interface CountedProps {
  value: number
  /** Where to see them. Null if there is no such list. */
  path: string | null
  /** The accessible name. */
  label: string
}

/** A number that links to what it counts. */
export const Counted = ({ value, path, label }: CountedProps) =>
  value === 0 || path === null ? (
    count(value)
  ) : (
    <TextLink href={path} underline="always" aria-label={label}>
      {count(value)}
    </TextLink>
  )
