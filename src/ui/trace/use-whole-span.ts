import { useQuery } from '@tanstack/react-query'
import type { Span } from '../api/wire.ts'
import { spanQuery } from './queries.ts'

/** The values of a span that may be previews. */
export type SpanValue = 'output' | 'approvedOutput' | 'input' | 'state' | 'metadata' | 'suggestions' | 'votes'

/** A span with the given values in full. Loads it if any of them is a preview. */
export function useWholeSpan(span: Span, values: readonly SpanValue[]) {
  const isCut = span.truncated.some(field => values.some(value => field === value || field.startsWith(`${value}.`)))
  // Votes don't change the etag.
  const version = [span.etag, ...span.votes.map(({ at }) => at)].join()
  const { data, error, refetch } = useQuery({ ...spanQuery(span.id, version), enabled: isCut })
  return { span: isCut ? data : span, error, refetch }
}
