import { Link } from 'wouter'
import { ShownText } from '../json/shown-text.tsx'
import classes from './matches.module.css'

/** A text that a search found. */
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

/** Where a search found its text. Each match links to its span. */
export const Matches = ({ matches, sought, pathOf, isWrapped = false }: MatchesProps) => (
  <ul className={classes.matches} aria-label="Matches">
    {matches.map(({ spanId, field, snippet }, place) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: the matches of an item change together
      <li key={place}>
        <Link href={pathOf(spanId)} className={isWrapped ? classes.wrapped : classes.match} title={snippet}>
          <span className={classes.field}>{FIELDS[field] ?? field}</span>{' '}
          <span dir="auto">
            <Highlighted text={snippet} sought={sought} />
          </span>
        </Link>
      </li>
    ))}
  </ul>
)

function Highlighted({ text, sought }: { text: string; sought: string }) {
  // The group keeps the matches, at the odd places.
  const parts = text.split(new RegExp(`(${sought.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')})`, 'iv'))
  return parts.map((part, place) =>
    place % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text change together
      <mark key={place} className={classes.mark}>
        <ShownText text={part} />
      </mark>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text change together
      <ShownText key={place} text={part} />
    ),
  )
}
