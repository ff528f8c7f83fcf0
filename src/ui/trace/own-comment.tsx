import { ActionIcon, Button, Group, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { Feedback } from '../api/wire.ts'
import { FeedbackCard } from '../feedback/feedback-card.tsx'
import { IconPencil, IconTrash } from '../icons/index.ts'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { CommentForm } from './comment-form.tsx'
import { changeComment, deleteComment } from './queries.ts'

interface OwnCommentProps {
  feedback: Feedback
  traceId: string
  name: string | undefined
}

/** A comment by the signed-in user, who can edit and delete it. */
export function OwnComment({ feedback, traceId, name }: OwnCommentProps) {
  const { id, content } = feedback
  const [mode, setMode] = useState<'read' | 'edit' | 'delete'>('read')
  const { mutate, isPending, error } = useMutation({ mutationFn: () => deleteComment(traceId, id) })
  const toRead = () => setMode('read')
  return (
    <FeedbackCard
      feedback={feedback}
      name={name}
      buttons={
        mode === 'read' && (
          <Group gap={0} wrap="nowrap">
            <ActionIcon variant="subtle" color="gray" aria-label="Edit comment" onClick={() => setMode('edit')}>
              <IconPencil size={16} aria-hidden />
            </ActionIcon>
            <ActionIcon variant="subtle" color="gray" aria-label="Delete comment" onClick={() => setMode('delete')}>
              <IconTrash size={16} aria-hidden />
            </ActionIcon>
          </Group>
        )
      }
      editor={
        mode === 'edit' ? (
          <CommentForm
            draft={id}
            label="Your comment"
            action="Save"
            text={content}
            onSave={changed => changeComment(traceId, id, changed)}
            onCancel={toRead}
          />
        ) : undefined
      }
    >
      {mode === 'delete' && (
        <Group gap="xs">
          <Text size="sm">Delete this comment?</Text>
          <Button size="compact-sm" color="red.9" loading={isPending} onClick={() => mutate()}>
            Delete
          </Button>
          <Button size="compact-sm" variant="default" onClick={toRead}>
            Cancel
          </Button>
        </Group>
      )}
      {error && <FaultAlert error={error} title="Couldn't delete the comment" />}
    </FeedbackCard>
  )
}
