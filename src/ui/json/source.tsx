import { useDebouncedValue } from '@mantine/hooks'
import { useMemo, useState } from 'react'
import type { Json } from '../api/wire.ts'
import { FindBar } from './find-bar.tsx'
import classes from './json-view.module.css'
import { SourceLines } from './source-lines.tsx'
import { linesOf, type Match, matchesIn } from './text-lines.ts'

/* Loaded when someone views a value's source, searches it, or opens text that's too long to format. */

interface SourceProps {
  value: Json
  label: string
  /** A CSS length. */
  maxHeight: string
  /** The text to find; undefined if the search is closed. */
  wanted: string | undefined
  onFind: (wanted: string | undefined) => void
}

/** Text as it was sent, or a value as JSON, with a search field. */
export function Source({ value, label, maxHeight, wanted, onFind }: SourceProps) {
  const source = useMemo(() => (typeof value === 'string' ? value : JSON.stringify(value, undefined, 2)), [value])
  const lines = useMemo(() => linesOf(source), [source])
  const [sought] = useDebouncedValue(wanted ?? '', FIND_DELAY_MS)
  const matches = useMemo(() => foundIn(source, sought, typeof value === 'string'), [source, sought, value])
  const [place, setPlace] = useState({ matches, current: 0 })
  const current = place.matches === matches ? place.current : 0
  const step = (by: 1 | -1) => setPlace({ matches, current: (current + by + matches.length) % matches.length })
  return (
    <>
      {wanted !== undefined && (
        <div className={classes.bar}>
          <FindBar
            label={label}
            wanted={wanted}
            onChange={onFind}
            total={matches.length}
            current={current}
            onStep={by => matches.length > 0 && step(by)}
            onClose={() => onFind(undefined)}
          />
        </div>
      )}
      <SourceLines lines={lines} label={label} maxHeight={maxHeight} matches={matches} current={current} />
    </>
  )
}

const FIND_DELAY_MS = 150

/** The places that match. In JSON, quotes and line breaks within strings are escaped. */
function foundIn(source: string, wanted: string, isText: boolean): Match[] {
  const matches = matchesIn(source, wanted)
  return isText || matches.length > 0 ? matches : matchesIn(source, JSON.stringify(wanted).slice(1, -1))
}

interface LongTextProps {
  value: string
  label: string
  maxHeight: string
}

/** Text for reading that's too long to format as Markdown. */
export function LongText({ value, label, maxHeight }: LongTextProps) {
  const lines = useMemo(() => linesOf(value), [value])
  return <SourceLines lines={lines} label={label} maxHeight={maxHeight} isProse />
}
