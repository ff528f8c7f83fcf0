import { Box, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useNames } from '../api/names.ts'
import type { SpanOfTrace } from '../api/wire.ts'
import { FeedbackCard } from '../feedback/feedback-card.tsx'
import { count } from '../parts/format.ts'
import { TextLink } from '../parts/text-link.tsx'
import { traceQuery } from './queries.ts'

/** The feedback of the whole trace loads only after a reviewer has stayed on an item for this long. */
const DWELL_MS = 400

/** Feedback on a span and on its trace as a whole. */
export function SpanFeedback({ span }: { span: SpanOfTrace }) {
  const [isDwelling, setDwelling] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setDwelling(true), DWELL_MS)
    return () => clearTimeout(timer)
  }, [])
  const { data: trace } = useQuery({ ...traceQuery(span.trace.id), enabled: isDwelling })
  const rootId = trace?.spans[0]?.id
  const feedback = (trace?.feedback ?? []).filter(({ spanId }) => spanId === span.id || spanId === rootId)
  const names = useNames(feedback.map(({ userId }) => userId))
  const isMore = trace !== undefined && trace.nextFeedbackCursor !== null
  if (feedback.length === 0 && !isMore) return null
  return (
    <Box component="section" aria-label="Feedback" mt="lg">
      <Title order={2} mb={4}>
        Feedback
      </Title>
      <Stack gap="xs">
        {feedback.map(each => (
          <FeedbackCard
            key={each.id}
            feedback={each}
            name={names.get(each.userId)}
            isOnTrace={each.spanId !== span.id}
          />
        ))}
        {isMore && (
          <Text size="xs" c="dimmed">
            Only the first {count(trace.feedback.length)} of this trace's {count(trace.feedbackCount)} pieces of
            feedback were checked for feedback on this output.{' '}
            <TextLink href={`/traces/${span.trace.id}?span=${span.id}&section=feedback`}>Open the trace</TextLink> to
            see the rest.
          </Text>
        )}
      </Stack>
    </Box>
  )
}
