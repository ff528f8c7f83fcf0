import { Link } from 'wouter'
import { FoundText } from '../parts/found-text.tsx'
import classes from './matches.module.css'

/** Text that matched a search. */
interface Match {
  spanId: string
  field: string
  snippet: string
}

interface MatchesProps {
  matches: readonly Match[]
  /** The text that was searched for. */
  sought: string
  pathOf: (spanId: string) => string
  /** Whether long matches take several lines. */
  isWrapped?: boolean
}

const FIELDS: Readonly<Record<string, string>> = {
  approvedOutput: 'approved output',
  stepId: 'step',
}

/** The name of a field with a match. */
export const matchedField = (field: string): string => FIELDS[field] ?? field

/** The matches of a search. Each one links to its span. */
export const Matches = ({ matches, sought, pathOf, isWrapped = false }: MatchesProps) => (
  <ul className={classes.matches} aria-label="Matches">
    {matches.map(({ spanId, field, snippet }, place) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: the matches of an item change together
      <li key={place}>
        <Link href={pathOf(spanId)} className={isWrapped ? classes.wrapped : classes.match} title={snippet}>
          <span className={classes.field}>{matchedField(field)}</span>{' '}
          <span dir="auto">
            <FoundText text={snippet} sought={sought} />
          </span>
        </Link>
      </li>
    ))}
  </ul>
)
