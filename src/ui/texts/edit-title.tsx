import { ActionIcon, TextInput, Tooltip } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import { IconPencil } from '../icons/index.ts'
import { fieldFaults } from '../parts/field-faults.ts'
import { FormModal } from '../parts/form-modal.tsx'
import { useSubmission } from '../parts/use-submission.ts'
import type { TextKind, VersionedText } from './kinds.ts'
import { changeTitle, refreshTexts } from './writes.ts'

/** Gives a text another title. */
export function EditTitle({ kind, text }: { kind: TextKind; text: VersionedText }) {
  const [isOpen, { open, close }] = useDisclosure()
  const [title, setTitle] = useState('')
  const { submit, isPending, error, reset } = useSubmission({
    send: (changed: string) => changeTitle(kind, text.id, changed),
    onDone: async () => {
      await refreshTexts(kind, text.id)
      close()
      notifications.show({ message: 'Title changed.' })
    },
  })
  const faults = fieldFaults(error, ['title'])
  const begin = () => {
    setTitle(text.title ?? '')
    reset()
    open()
  }
  const label = 'Edit title'
  return (
    <>
      <Tooltip label={label}>
        <ActionIcon variant="default" size={30} aria-label={label} onClick={begin}>
          <IconPencil size={16} aria-hidden />
        </ActionIcon>
      </Tooltip>
      <FormModal
        title={label}
        isOpen={isOpen}
        onClose={close}
        act="Save"
        onSubmit={() => submit(title.trim())}
        isPending={isPending}
        error={faults.rest}
        isDisabled={title.trim() === ''}
      >
        <TextInput
          label="Title"
          description={`The slug ${text.name} doesn't change.`}
          required
          data-autofocus
          value={title}
          onChange={({ currentTarget }) => setTitle(currentTarget.value)}
          error={faults.of('title')}
        />
      </FormModal>
    </>
  )
}
