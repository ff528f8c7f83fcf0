import { ActionIcon, Button, Group, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { Feedback } from '../api/wire.ts'
import { IconPencil, IconThumbDown, IconThumbUp, IconTrash } from '../icons/index.ts'
import { JsonView } from '../json/json-view.tsx'
import { ShownText } from '../json/shown-text.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { Moment } from '../parts/moment.tsx'
import { CommentForm } from './comment-form.tsx'
import classes from './feedback-card.module.css'
import { changeComment, deleteComment } from './queries.ts'
import panel from './span-panel.module.css'

interface FeedbackCardProps {
  feedback: Feedback
  traceId: string
  name: string | undefined
  /** Whether the signed-in user wrote it. */
  isOwn: boolean
}

/** A comment or a piece of feedback on a span. */
export function FeedbackCard({ feedback, traceId, name, isOwn }: FeedbackCardProps) {
  const [mode, setMode] = useState<'read' | 'edit' | 'delete'>('read')
  const { labeller, source, createdAt, rating, content, correction, truncated } = feedback
  const { mutate, isPending, error } = useMutation({ mutationFn: () => deleteComment(traceId, feedback.id) })
  const author = labeller?.name || labeller?.email || name || '…'
  return (
    <Stack gap={6} className={panel.card}>
      <Group justify="space-between" gap="xs" wrap="nowrap" align="start">
        <Group gap="xs" fz="xs" c="dimmed">
          <Text span inherit fw={600} c="var(--text)" dir="auto" className={panel.said}>
            <ShownText text={author} />
          </Text>
          <span>{source === 'review' ? 'Reviewer' : 'Feedback'}</span>
          <Moment at={createdAt} />
          {rating !== null && <RatingMark rating={rating} />}
        </Group>
        {isOwn && mode === 'read' && (
          <Group gap={0} wrap="nowrap">
            <ActionIcon variant="subtle" color="gray" aria-label="Edit comment" onClick={() => setMode('edit')}>
              <IconPencil size={16} aria-hidden />
            </ActionIcon>
            <ActionIcon variant="subtle" color="gray" aria-label="Delete comment" onClick={() => setMode('delete')}>
              <IconTrash size={16} aria-hidden />
            </ActionIcon>
          </Group>
        )}
      </Group>
      {mode === 'edit' ? (
        <CommentForm
          draft={feedback.id}
          label="Your comment"
          action="Save"
          text={content}
          onSave={changed => changeComment(traceId, feedback.id, changed)}
          onCancel={() => setMode('read')}
        />
      ) : (
        content !== '' && (
          <Text size="sm" className={panel.said} dir="auto">
            <ShownText text={content} />
          </Text>
        )
      )}
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
          Shortened. The full text is too long to show here.
        </Text>
      )}
      {mode === 'delete' && (
        <Group gap="xs">
          <Text size="sm">Delete this comment?</Text>
          <Button size="compact-sm" color="red.9" loading={isPending} onClick={() => mutate()}>
            Delete
          </Button>
          <Button size="compact-sm" variant="default" onClick={() => setMode('read')}>
            Cancel
          </Button>
        </Group>
      )}
      {error && <FaultAlert error={error} title="Not deleted" />}
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
