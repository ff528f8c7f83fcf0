import { Anchor, Group, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { Link } from 'wouter'
import { useNames } from '../api/names.ts'
import type { Feedback, SpanOfTrace } from '../api/wire.ts'
import { IconMessage, IconThumbDown, IconThumbUp } from '../icons/index.ts'
import { JsonView } from '../json/json-view.tsx'
import { ShownText } from '../json/shown-text.tsx'
import { count } from '../parts/format.ts'
import { Moment } from '../parts/moment.tsx'
import { traceQuery } from './queries.ts'
import classes from './span-feedback.module.css'

/** Loads the whole trace's feedback, so it waits until a reviewer stays on an item. */
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
    <section aria-label="Feedback" className={classes.feedback}>
      <Title order={2} mb={4}>
        Feedback
      </Title>
      <Stack gap="xs">
        {feedback.map(each => (
          <Opinion
            key={each.id}
            feedback={each}
            name={each.labeller?.name ?? names.get(each.userId) ?? ''}
            isOfTrace={each.spanId !== span.id}
          />
        ))}
        {isMore && (
          <Text size="xs" c="dimmed">
            Showing matches among the first {count(trace.feedback.length)} of {count(trace.feedbackCount)} pieces of
            feedback on this trace.{' '}
            <Anchor component={Link} href={`/traces/${span.trace.id}?span=${span.id}&section=feedback`} inherit>
              Open the trace
            </Anchor>{' '}
            to see the rest.
          </Text>
        )}
      </Stack>
    </section>
  )
}

function Opinion({ feedback, name, isOfTrace }: { feedback: Feedback; name: string; isOfTrace: boolean }) {
  const { rating, content, correction, createdAt } = feedback
  return (
    <div className={classes.opinion}>
      <Group gap="xs" fz="xs" c="dimmed">
        <Rating rating={rating} />
        {name !== '' && (
          <Text span inherit lineClamp={1} maw="12rem">
            <ShownText text={name} />
          </Text>
        )}
        <Moment at={createdAt} />
        {isOfTrace && <span>on the trace</span>}
      </Group>
      {content !== '' && (
        <Text size="sm" dir="auto" className={classes.content}>
          <ShownText text={content} />
        </Text>
      )}
      {correction !== null && <JsonView value={correction} label="the correction" maxHeight="20vh" />}
    </div>
  )
}

function Rating({ rating }: Pick<Feedback, 'rating'>) {
  if (rating === null) return <IconMessage size={14} aria-label="Comment" />
  const isNegative = rating === 'negative' || (typeof rating === 'number' && rating < 0.5)
  const word = typeof rating === 'number' ? `Rated ${rating}` : isNegative ? 'Negative' : 'Positive'
  const Icon = isNegative ? IconThumbDown : IconThumbUp
  return (
    <Group gap={4} c={isNegative ? 'var(--negative)' : 'var(--accepted)'} fw={500}>
      <Icon size={14} aria-hidden /> {word}
    </Group>
  )
}
