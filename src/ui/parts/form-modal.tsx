import { Button, Group, Stack } from '@mantine/core'
import type { FormEvent, PropsWithChildren } from 'react'
import { FaultAlert } from './fault-alert.tsx'
import { LateModal } from './late-modal.tsx'

interface FormModalProps {
  isOpen: boolean
  onClose: () => void
  title: string
  /** The button's label: the action itself, never "OK". */
  act: string
  onSubmit: () => void
  isPending: boolean
  error: Error | null
  /** Whether the action deletes something. */
  isDestructive?: boolean
  isDisabled?: boolean
}

/** A form or a confirmation in a dialog. */
export function FormModal(props: PropsWithChildren<FormModalProps>) {
  const { isOpen, onClose, title, act, onSubmit, isPending, error, isDestructive, isDisabled, children } = props
  const submit = (event: FormEvent) => {
    event.preventDefault()
    // Otherwise, a form in a portal also submits the form around it.
    event.stopPropagation()
    // The button still accepts clicks while the dialog fades out.
    if (isOpen) onSubmit()
  }
  return (
    <LateModal opened={isOpen} onClose={onClose} title={title} centered closeButtonProps={{ 'aria-label': 'Close' }}>
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
    </LateModal>
  )
}
