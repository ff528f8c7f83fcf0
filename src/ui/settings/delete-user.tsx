import { ActionIcon, Text, Tooltip } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { notifications } from '@mantine/notifications'
import type { Users } from '../api/wire.ts'
import { IconTrash } from '../icons/index.ts'
import { FormModal } from '../parts/form-modal.tsx'
import { useSubmission } from '../parts/use-submission.ts'
import { deleteUser, refreshPeople } from './writes.ts'

/** Deletes a user, after saying what goes and what stays. */
export function DeleteUser({ user, isOwn }: { user: Users['users'][number]; isOwn: boolean }) {
  const [isOpen, { open, close }] = useDisclosure()
  const name = user.name || user.email
  const { submit, isPending, error, reset } = useSubmission({
    send: () => deleteUser(user.id),
    onDone: async () => {
      await refreshPeople()
      close()
      notifications.show({ message: `${name} deleted.` })
    },
  })
  const begin = () => {
    reset()
    open()
  }
  const label = `Delete ${name}`
  return (
    <>
      <Tooltip label={label}>
        <ActionIcon variant="default" aria-label={label} onClick={begin}>
          <IconTrash size={16} aria-hidden />
        </ActionIcon>
      </Tooltip>
      <FormModal
        title={`${label}?`}
        isOpen={isOpen}
        onClose={close}
        act="Delete user"
        isDestructive
        onSubmit={() => submit(undefined)}
        isPending={isPending}
        error={error}
      >
        <Text size="sm">
          Keys that act for them stop working within 30 seconds. Their name and email are removed everywhere. Their
          reviews and comments stay, but under an anonymous id. This can't be undone.
        </Text>
        {isOwn && (
          <Text size="sm" fw={600}>
            This is you: you'll be signed out.
          </Text>
        )}
      </FormModal>
    </>
  )
}
