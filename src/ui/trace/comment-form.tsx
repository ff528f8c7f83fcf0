import { Button, Group, Stack, Textarea } from '@mantine/core'
import { getHotkeyHandler, useSessionStorage } from '@mantine/hooks'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { FaultAlert } from '../parts/fault-alert.tsx'

interface CommentFormProps {
  /** The storage key for the unsaved text. */
  draft: string
  label: string
  /** The button's label. */
  action: string
  text?: string
  /** Retries of the same text have the same `id`. */
  onSave: (content: string, id: string) => Promise<void>
  onCancel?: () => void
}

const MAX_LENGTH = 16 * 1024

/** Writes a comment. Unsaved text survives a reload and a visit to another span. */
export function CommentForm({ draft, label, action, text = '', onSave, onCancel }: CommentFormProps) {
  const [content, setContent, forget] = useSessionStorage({ key: `countersign.comment.${draft}`, defaultValue: text })
  const [id, setId] = useState(() => crypto.randomUUID())
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => onSave(content.trim(), id),
    onSuccess: () => {
      forget()
      setId(crypto.randomUUID())
      onCancel?.()
    },
  })
  const isEmpty = content.trim() === ''
  const save = () => {
    if (!isEmpty && !isPending) mutate()
  }
  return (
    <Stack gap="xs">
      <Textarea
        label={label}
        description="Press Ctrl/⌘+Enter to save"
        autosize
        minRows={2}
        maxRows={12}
        maxLength={MAX_LENGTH}
        dir="auto"
        value={content}
        onChange={({ currentTarget }) => setContent(currentTarget.value)}
        onKeyDown={getHotkeyHandler([['mod+Enter', save]])}
      />
      {error && <FaultAlert error={error} title="Couldn't save the comment" />}
      <Group gap="xs">
        <Button size="xs" disabled={isEmpty} loading={isPending} onClick={save}>
          {action}
        </Button>
        {onCancel && (
          <Button
            size="xs"
            variant="default"
            onClick={() => {
              forget()
              onCancel()
            }}
          >
            Cancel
          </Button>
        )}
      </Group>
    </Stack>
  )
}
