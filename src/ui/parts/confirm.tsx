import { Button, Group, Modal, Stack } from '@mantine/core'
import type { FormEvent, PropsWithChildren } from 'react'
import { FaultAlert } from './fault-alert.tsx'

interface ConfirmProps {
  isOpen: boolean
  onClose: () => void
  title: string
  /** What the button says: the act itself, never "OK". */
  act: string
  onConfirm: () => void
  isPending: boolean
  error: Error | null
  /** Whether the act takes something away. */
  isDestructive?: boolean
  isDisabled?: boolean
}

/** Asks before an act, in words that say what it changes. */
export function Confirm(props: PropsWithChildren<ConfirmProps>) {
  const { isOpen, onClose, title, act, onConfirm, isPending, error, isDestructive, isDisabled, children } = props
  const submit = (event: FormEvent) => {
    event.preventDefault()
    // A form that is portalled from within another one would send that too.
    event.stopPropagation()
    onConfirm()
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
