import { lazy, Suspense } from 'react'
import { FaultBoundary } from '../parts/fault-boundary.tsx'
import { CitedText } from './cited-text.tsx'
import classes from './markdown.module.css'
import { isMarkdown } from './syntax.ts'

/** The parser is loaded when Markdown is first shown. */
const Rendered = lazy(async () => ({ default: (await import('./render.tsx')).RenderedMarkdown }))

/** A pipeline's text for reading: formatted if it's Markdown, otherwise unchanged. */
export function ReadableText({ text }: { text: string }) {
  const plain = (
    <div className={classes.plain} dir="auto">
      <CitedText text={text} />
    </div>
  )
  if (!isMarkdown(text)) return plain
  return (
    <FaultBoundary key={text} fallback={plain}>
      <Suspense fallback={plain}>
        <Rendered text={text} fallback={plain} />
      </Suspense>
    </FaultBoundary>
  )
}
