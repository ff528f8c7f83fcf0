import { Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNames } from '../api/names.ts'
import { sessionQuery } from '../api/session.ts'
import type { Feedback } from '../api/wire.ts'
import { FeedbackCard } from '../feedback/feedback-card.tsx'
import { CommentForm } from './comment-form.tsx'
import { OwnComment } from './own-comment.tsx'
import { comment } from './queries.ts'

interface FeedbackSectionProps {
  spanId: string
  traceId: string
  feedback: readonly Feedback[]
}

/** Feedback from the pipeline's users and comments from reviewers. */
export function FeedbackSection({ spanId, traceId, feedback }: FeedbackSectionProps) {
  const { data: session } = useQuery(sessionQuery)
  const names = useNames(feedback.map(({ userId }) => userId))
  const mayComment = session?.scopes.includes('review')
  return (
    <Stack gap="xs">
      {feedback.length === 0 && <Text c="dimmed">No feedback or comments on this span yet.</Text>}
      {feedback.map(item => {
        const name = names.get(item.userId)
        const isOwn = mayComment && item.source === 'review' && item.userId === session?.actorId
        return isOwn ? (
          <OwnComment key={item.id} feedback={item} traceId={traceId} name={name} />
        ) : (
          <FeedbackCard key={item.id} feedback={item} name={name} />
        )
      })}
      {mayComment ? (
        <CommentForm
          draft={spanId}
          label="Comment"
          action="Comment"
          onSave={(content, id) => comment(traceId, spanId, content, id)}
        />
      ) : (
        <Text size="xs" c="dimmed">
          You need the “review” scope to comment.
        </Text>
      )}
    </Stack>
  )
}
