import { Button, Group, Text, Textarea } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation } from '@tanstack/react-query'
import type { RefObject } from 'react'
import { call } from '../api/client.ts'
import type { Feedback, SpanOfTrace } from '../api/wire.ts'
import { FaultAlert } from '../parts/fault-alert.tsx'
import type { Draft } from './drafts.ts'
import { reloadTrace } from './queries.ts'

/** Posts a comment on a span. The ID is chosen here, so a retry can't post it twice. */
export function usePostComment(span: SpanOfTrace, onPosted: () => void) {
  return useMutation({
    mutationFn: ({ comment, commentId }: Pick<Draft, 'comment' | 'commentId'>) =>
      call<Feedback>(`/api/spans/${span.id}/feedback`, {
        method: 'POST',
        body: { content: comment.trim(), id: commentId },
      }),
    onSuccess: () => {
      onPosted()
      notifications.show({ message: 'Comment posted', color: 'green', autoClose: 2_000 })
      return reloadTrace(span.trace.id)
    },
  })
}

interface CommentBoxProps {
  value: string
  onChange: (comment: string) => void
  onPost: () => void
  onClose: () => void
  posting: Pick<ReturnType<typeof usePostComment>, 'isPending' | 'error'>
  field: RefObject<HTMLTextAreaElement | null>
}

/** Writes a comment without recording a decision. */
export const CommentBox = ({ value, onChange, onPost, onClose, posting, field }: CommentBoxProps) => (
  <div>
    <Textarea
      ref={field}
      label="Comment"
      description="Visible to everyone. Doesn't record a decision."
      autosize
      minRows={2}
      maxRows={8}
      maxLength={16_384}
      autoFocus
      dir="auto"
      data-comment
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
    {posting.error && <FaultAlert error={posting.error} title="Couldn't post the comment. Your text is still here." />}
    <Group justify="space-between" mt={6}>
      <Text size="xs" c="dimmed">
        Press Ctrl/⌘+Enter to post
      </Text>
      <Group gap="xs">
        <Button size="compact-sm" variant="subtle" color="gray" onClick={onClose}>
          Discard
        </Button>
        <Button
          size="compact-sm"
          variant="light"
          disabled={value.trim() === ''}
          loading={posting.isPending}
          onClick={onPost}
        >
          Post
        </Button>
      </Group>
    </Group>
  </div>
)
