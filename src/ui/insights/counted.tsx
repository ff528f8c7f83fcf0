import { count } from '../parts/format.ts'
import { TextLink } from '../parts/text-link.tsx'

interface CountedProps {
  /** A number of decisions. */
  value: number
  /** Where to see them. Null if there is no such list. */
  path: string | null
  /** The accessible name. */
  label: string
}

/** A number of decisions that links to them. */
export const Counted = ({ value, path, label }: CountedProps) =>
  value === 0 || path === null ? (
    count(value)
  ) : (
    <TextLink href={path} underline="always" aria-label={label}>
      {count(value)}
    </TextLink>
  )
