import { useMemo } from 'react'
import classes from './json-view.module.css'
import { ShownText } from './shown-text.tsx'
import { lastAtOrBefore, type Match, partsOf, type TextLine } from './text-lines.ts'
import { VirtualLines } from './virtual-lines.tsx'

interface SourceLinesProps {
  lines: readonly TextLine[]
  label: string
  maxHeight: string
  /** The places that match a search, in order. */
  matches?: readonly Match[]
  /** The index of the match to scroll to. */
  current?: number
  /** Whether the text is for reading, rather than code. */
  isProse?: boolean
}

const NONE: readonly Match[] = []

/** Text, line by line, with the matches for a search. */
export function SourceLines({ lines, label, maxHeight, matches = NONE, current = 0, isProse }: SourceLinesProps) {
  const match = matches[current]
  const shown = useMemo(() => (match ? lastAtOrBefore(lines, match.start) : -1), [lines, match])
  const last = lines.at(-1)
  return (
    <VirtualLines
      count={lines.length}
      keyOf={index => index}
      label={label}
      maxHeight={maxHeight}
      length={last ? last.start + last.text.length : 0}
      shown={shown}
      className={isProse ? classes.prose : undefined}
    >
      {index => {
        const line = lines[index]
        return (
          line && (
            <span className={classes.raw} dir="auto">
              {matches.length === 0 ? (
                <ShownText text={line.text} />
              ) : (
                partsOf(line, matches).map((part, place) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a line change together
                  <Part key={place} {...part} isCurrent={part.match === current} />
                ))
              )}
            </span>
          )
        )
      }}
    </VirtualLines>
  )
}

const Part = ({ text, match, isCurrent }: { text: string; match: number | undefined; isCurrent: boolean }) =>
  match === undefined ? (
    <ShownText text={text} />
  ) : (
    <mark className={classes.match} data-current={isCurrent || undefined}>
      <ShownText text={text} />
    </mark>
  )
