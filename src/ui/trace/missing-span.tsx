import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useSearch } from 'wouter'
import { TextLink } from '../parts/text-link.tsx'
import { missingSpanQuery } from './queries.ts'

/**
 * Says that the span in the URL isn't in the trace. If the span is in another trace, links to it there: evidence can
 * quote a decision from another trace.
 */
export function MissingSpan({ spanId }: { spanId: string }) {
  const search = useSearch()
  const { data: span, isPending } = useQuery(missingSpanQuery(spanId))
  if (isPending) return null
  return (
    <Text size="sm" role="status">
      The linked span isn't in this trace.{' '}
      {span && <TextLink href={`/traces/${span.trace.id}?${search}`}>Open it in its trace</TextLink>}
    </Text>
  )
}
