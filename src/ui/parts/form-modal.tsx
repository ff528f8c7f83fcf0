import { Button, Group, Modal, Stack } from '@mantine/core'
import type { FormEvent, PropsWithChildren } from 'react'
import { FaultAlert } from './fault-alert.tsx'

interface FormModalProps {
  isOpen: boolean
  onClose: () => void
  title: string
  /** What the button says: the act itself, never "OK". */
  act: string
  onSubmit: () => void
  isPending: boolean
  error: Error | null
  /** Whether the act takes something away. */
  isDestructive?: boolean
  isDisabled?: boolean
}

/** A form over the page, or a question before an act in words that say what it changes. */
export function FormModal(props: PropsWithChildren<FormModalProps>) {
  const { isOpen, onClose, title, act, onSubmit, isPending, error, isDestructive, isDisabled, children } = props
  const submit = (event: FormEvent) => {
    event.preventDefault()
    // A form that is portalled from within another one would send that too.
    event.stopPropagation()
    // It can still be clicked while it fades out.
    if (isOpen) onSubmit()
  }
  return (
    <Modal opened={isOpen} onClose={onClose} title={title} centered closeButtonProps={{ 'aria-label': 'Close' }}>
      <form onSubmit={submit}>
        <Stack gap="md" fz="sm">
          {children}
          {error && <FaultAlert error={error} />}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button
              type="submit"
              loading={isPending}
              disabled={isDisabled === true}
              {...(isDestructive && { color: 'red.9' })}
            >
              {act}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
