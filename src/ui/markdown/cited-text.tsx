import { Anchor } from '@mantine/core'
import { createContext, Fragment, useContext } from 'react'
import { citationsIn } from '../../domain/citations.ts'
import { ShownText } from '../json/shown-text.tsx'

/** The names that text can cite, and what each one opens. */
export const CitedNames = createContext<ReadonlyMap<string, () => void>>(new Map())

/** A pipeline's text, with its citations as links. */
export function CitedText({ text }: { text: string }) {
  const names = useContext(CitedNames)
  const citations = names.size === 0 ? [] : citationsIn(text, name => names.has(name))
  if (citations.length === 0) return <ShownText text={text} />
  return (
    <>
      {citations.map(({ start, end, name }, index) => (
        <Fragment key={start}>
          <ShownText text={text.slice(citations[index - 1]?.end ?? 0, start)} />
          <Citation name={text.slice(start, end)} onFollow={names.get(name)} />
        </Fragment>
      ))}
      <ShownText text={text.slice(citations.at(-1)?.end)} />
    </>
  )
}

interface CitationProps {
  name: string
  onFollow: (() => void) | undefined
}

/** A citation that links to its source. */
export const Citation = ({ name, onFollow }: CitationProps) => (
  <Anchor component="button" type="button" inherit ta="start" onClick={onFollow}>
    <ShownText text={name} />
  </Anchor>
)
