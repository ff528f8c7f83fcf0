import { ActionIcon, Text, TextInput, Tooltip } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import type { Users } from '../api/wire.ts'
import { IconPencil } from '../icons/index.ts'
import { fieldFaults } from '../parts/field-faults.ts'
import { FormModal } from '../parts/form-modal.tsx'
import { useSubmission } from '../parts/use-submission.ts'
import { changesIn } from './changes.ts'
import { changeUser, refreshPeople } from './writes.ts'

type User = Users['users'][number]

/** Changes what a user is called, and their e-mail. */
export function EditUser({ user }: { user: User }) {
  const [isOpen, { open, close }] = useDisclosure()
  const [draft, setDraft] = useState(user)
  const { submit, isPending, error, reset } = useSubmission({
    send: (changed: User) => changeUser(user.id, changesIn(user, changed, ['name', 'email'])),
    onDone: async ({ name, email }) => {
      await refreshPeople()
      close()
      notifications.show({ message: `Changes to ${name || email} saved.` })
    },
  })
  const faults = fieldFaults(error, ['name', 'email'])
  const begin = () => {
    setDraft(user)
    reset()
    open()
  }
  const label = `Edit ${user.name || user.email}`
  return (
    <>
      <Tooltip label={label}>
        <ActionIcon variant="default" aria-label={label} onClick={begin}>
          <IconPencil size={16} aria-hidden />
        </ActionIcon>
      </Tooltip>
      <FormModal
        title={label}
        isOpen={isOpen}
        onClose={close}
        act="Save"
        onSubmit={() => submit({ ...draft, name: draft.name.trim(), email: draft.email.trim() })}
        isPending={isPending}
        error={faults.rest}
      >
        <TextInput
          label="Name"
          required={user.name !== ''}
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
        <Text size="sm" c="dimmed">
          Their keys, reviews and comments stay theirs. Later feedback that names the old email counts as another
          person's.
        </Text>
      </FormModal>
    </>
  )
}
