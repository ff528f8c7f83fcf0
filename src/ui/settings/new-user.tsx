import { Button, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import { IconPlus } from '../icons/index.ts'
import { fieldFaults } from '../parts/field-faults.ts'
import { FormModal } from '../parts/form-modal.tsx'
import { useSubmission } from '../parts/use-submission.ts'
import { createUser, refreshUsers } from './writes.ts'

const EMPTY = { email: '', name: '' }

/** Adds a user. */
export function NewUser() {
  const [isOpen, { open, close }] = useDisclosure()
  const [draft, setDraft] = useState(EMPTY)
  const { submit, isPending, error, reset } = useSubmission({
    send: createUser,
    onDone: ({ name }) => {
      refreshUsers()
      close()
      notifications.show({ message: `${name} added. To let them review, create a key that acts for them.` })
    },
  })
  const faults = fieldFaults(error, ['email', 'name'])
  const begin = () => {
    setDraft(EMPTY)
    reset()
    open()
  }
  return (
    <>
      <Button size="xs" leftSection={<IconPlus size={14} aria-hidden />} onClick={begin}>
        Add user
      </Button>
      <FormModal
        title="Add a user"
        isOpen={isOpen}
        onClose={close}
        act="Add user"
        onSubmit={() => submit({ email: draft.email.trim(), name: draft.name.trim() })}
        isPending={isPending}
        error={faults.rest}
      >
        <TextInput
          label="Name"
          required
          data-autofocus
          autoComplete="off"
          value={draft.name}
          onChange={({ currentTarget }) => setDraft({ ...draft, name: currentTarget.value })}
          error={faults.of('name')}
        />
        <TextInput
          label="Email"
          type="email"
          required
          autoComplete="off"
          value={draft.email}
          onChange={({ currentTarget }) => setDraft({ ...draft, email: currentTarget.value })}
          error={faults.of('email')}
        />
      </FormModal>
    </>
  )
}
