import { count, share } from './format.ts'
import { TextLink } from './text-link.tsx'

interface CountedProps {
  value: number
  /** The path to a list of the counted items. Null if there's no such list. */
  path: string | null
  /** The accessible name. */
  label: string
}

/** A number that links to what it counts. */
export const Counted = ({ value, path, label }: CountedProps) => (
  <Listed isAny={value > 0} path={path} label={label}>
    {count(value)}
  </Listed>
)

interface CountedShareProps extends Omit<CountedProps, 'value'> {
  part: number
  whole: number
}

/** A percentage that links to what its numerator counts. */
export const CountedShare = ({ part, whole, path, label }: CountedShareProps) => (
  <Listed isAny={part > 0} path={path} label={label}>
    {share(part, whole)}
  </Listed>
)

interface ListedProps extends Omit<CountedProps, 'value'> {
  isAny: boolean
  children: string
}

const Listed = ({ isAny, path, label, children }: ListedProps) =>
  isAny && path !== null ? (
    <TextLink href={path} underline="always" aria-label={label}>
      {children}
    </TextLink>
  ) : (
    children
  )
