import { Group, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Feedback } from '../api/wire.ts'
import { IconThumbDown, IconThumbUp } from '../icons/index.ts'
import { JsonView } from '../json/json-view.tsx'
import { Said } from '../json/said.tsx'
import { ShownText } from '../json/shown-text.tsx'
import { Moment } from '../parts/moment.tsx'
import classes from './feedback-card.module.css'

interface FeedbackCardProps {
  feedback: Feedback
  /** The author's name, if the feedback doesn't include it; undefined until it's loaded. */
  name: string | undefined
  /** Whether the feedback is about the whole trace rather than the shown span. */
  isOnTrace?: boolean
  /** Buttons next to the author. */
  buttons?: ReactNode
  /** A form that replaces the text. */
  editor?: ReactNode
  /** Shown at the end. */
  children?: ReactNode
}

/** A comment or a piece of feedback. */
export function FeedbackCard({ feedback, name, isOnTrace = false, buttons, editor, children }: FeedbackCardProps) {
  const { labeller, source, createdAt, rating, content, correction, truncated, name: topic } = feedback
  return (
    <Stack gap={6} className={classes.card}>
      <Group justify="space-between" gap="xs" wrap="nowrap" align="start">
        <Group gap="xs" fz="xs" c="dimmed">
          <Text span inherit fw={600} c="var(--text)" dir="auto" className={classes.said}>
            <ShownText text={labeller?.name || labeller?.email || name || '…'} />
          </Text>
          <span>{source === 'review' ? 'Reviewer' : 'Feedback'}</span>
          <Moment at={createdAt} />
          {topic !== null && (
            <Text span inherit dir="auto" className={classes.said}>
              <ShownText text={topic} />
            </Text>
          )}
          {rating !== null && <RatingMark rating={rating} />}
          {isOnTrace && <span>on the trace</span>}
        </Group>
        {buttons}
      </Group>
      {editor ?? (content !== '' && <Said text={content} />)}
      {correction !== null && (
        <>
          <Text size="xs" c="dimmed">
            Correction
          </Text>
          <JsonView value={correction} label="correction" maxHeight="240px" />
        </>
      )}
      {truncated.length > 0 && (
        <Text size="xs" c="dimmed">
          Truncated: the full text is too long to show here.
        </Text>
      )}
      {children}
    </Stack>
  )
}

function RatingMark({ rating }: { rating: NonNullable<Feedback['rating']> }) {
  const isNegative = rating === 'negative' || (typeof rating === 'number' && rating < 0.5)
  const isPositive = rating === 'positive' || (typeof rating === 'number' && rating > 0.5)
  const word = typeof rating === 'number' ? `Rated ${rating}` : isNegative ? 'Negative' : 'Positive'
  return (
    <span className={`${classes.rating} ${isNegative ? classes.negative : isPositive ? classes.positive : ''}`}>
      {isNegative ? <IconThumbDown size={13} aria-hidden /> : isPositive && <IconThumbUp size={13} aria-hidden />}
      {word}
    </span>
  )
}
