import { Button } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { notifications } from '@mantine/notifications'
import { type ReactNode, useState } from 'react'
import { IconPlus } from '../icons/index.ts'
import { type FieldFaults, fieldFaults } from './field-faults.ts'
import { FormModal } from './form-modal.tsx'
import { IconButton, type IconButtonProps } from './icon-button.tsx'
import { useSubmission } from './use-submission.ts'

interface SubmitButton {
  act: string
  isDestructive?: boolean
  isDisabled?: boolean
}

interface DialogFormProps<Draft, Answer> {
  /** The button that opens the dialog. */
  trigger: (open: () => void) => ReactNode
  title: string
  /** The initial values, set each time the form opens. */
  initial: Draft
  /** The fields that show their own errors, by their names in the API. */
  fields?: readonly string[]
  button: (draft: Draft) => SubmitButton
  send: (draft: Draft) => Promise<Answer>
  onOpen?: () => unknown
  /** Runs before the dialog closes; if it returns a promise, the dialog waits for it. */
  onDone?: (answer: Answer) => unknown
  /** The notification to show afterward. */
  notice?: (answer: Answer) => string
  children: (draft: Draft, change: (part: Partial<Draft>) => void, faults: FieldFaults) => ReactNode
}

/** A button and the dialog that it opens: a form or a confirmation. */
export function DialogForm<Draft extends object, Answer>(props: DialogFormProps<Draft, Answer>) {
  const { trigger, title, initial, fields = [], button, send, onOpen, onDone, notice, children } = props
  const [isOpen, { open, close }] = useDisclosure()
  const [draft, setDraft] = useState(initial)
  const { submit, isPending, error, reset } = useSubmission({
    send,
    onDone: async answer => {
      const done = onDone?.(answer)
      // No await, so that the next dialog replaces this one in a single render.
      if (done instanceof Promise) await done
      close()
      if (notice) notifications.show({ message: notice(answer) })
    },
  })
  const begin = () => {
    setDraft(initial)
    reset()
    open()
    onOpen?.()
  }
  const faults = fieldFaults(error, fields)
  return (
    <>
      {trigger(begin)}
      <FormModal
        title={title}
        isOpen={isOpen}
        onClose={close}
        {...button(draft)}
        onSubmit={() => submit(draft)}
        isPending={isPending}
        error={faults.rest}
      >
        {children(draft, part => setDraft(current => ({ ...current, ...part })), faults)}
      </FormModal>
    </>
  )
}

/** Opens a dialog from a row or a heading. */
export const IconTrigger = (props: Pick<IconButtonProps, 'label' | 'Icon' | 'size' | 'onClick'>) => (
  <IconButton {...props} variant="default" />
)

/** Opens a dialog that adds to a list. */
export const AddTrigger = ({ label, onClick }: Pick<IconButtonProps, 'label' | 'onClick'>) => (
  <Button size="xs" leftSection={<IconPlus size={14} aria-hidden />} onClick={onClick}>
    {label}
  </Button>
)
