import { useQuery } from '@tanstack/react-query'
import type { Span } from '../api/wire.ts'
import { spanQuery } from './queries.ts'

/** The values of a span that may be previews. */
export type SpanValue = 'output' | 'approvedOutput' | 'input' | 'state' | 'metadata' | 'suggestions'

/** A span with the given values whole. Loads it if any of them is a preview. */
export function useWholeSpan(span: Span, values: readonly SpanValue[]) {
  const isCut = span.truncated.some(field => values.some(value => field === value || field.startsWith(`${value}.`)))
  const { data, error, refetch } = useQuery({ ...spanQuery(span.id, span.etag), enabled: isCut })
  return { span: isCut ? data : span, error, refetch }
}
