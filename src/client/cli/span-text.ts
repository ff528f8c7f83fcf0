import type { TraceSpan } from '../traces.ts'
import type { Output } from './output.ts'
import { shownLine, shownText } from './shown-text.ts'

/** How to print a span. */
interface SpanLayout {
  isFull: boolean
  indent?: string
}

/** Prints a span with its values, for people. */
export async function printSpan(out: Output, span: TraceSpan, { isFull, indent = '' }: SpanLayout): Promise<void> {
  const facts = [`${indent}${span.stepId}`, span.status, durationText(span.durationMs), span.model, span.review.state]
  await out.line(facts.filter(fact => fact !== null).join(' · '), 'strong')
  await out.line(`${indent}  span ${span.id}`, 'faint')
  for (const [name, value] of [
    ['input', span.input],
    ...Object.entries(span.state),
    ['output', span.output],
    ['approved', span.approvedOutput],
  ] as const) {
    if (value !== null) await out.line(labeled(`${indent}  ${name}: `, value, isFull, out.width))
  }
  const { comment, errorType } = span.review
  if (errorType !== null || comment !== null) {
    await out.line(`${indent}  reviewer: ${[errorType, comment].filter(Boolean).join(': ')}`)
  }
}

/** A duration, or null if it's unknown. */
export const durationText = (milliseconds: number | null): string | null =>
  milliseconds === null ? null : milliseconds < 1000 ? `${milliseconds} ms` : `${(milliseconds / 1000).toFixed(1)} s`

/** A value with its label: on one line if it's truncated, or else in full with indented lines. */
function labeled(label: string, value: unknown, isFull: boolean, width: number): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value, undefined, isFull ? 2 : undefined)
  if (!isFull) return label + shownLine(text, Math.max(40, width - label.length))
  return label + shownText(text).replaceAll('\n', `\n${' '.repeat(label.length)}`)
}
