import { ActionIcon, Text, Tooltip } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { notifications } from '@mantine/notifications'
import { IconBan } from '@tabler/icons-react'
import { changeSession } from '../api/query-client.ts'
import { signOut } from '../api/session.ts'
import { FormModal } from '../parts/form-modal.tsx'
import { useSubmission } from '../parts/use-submission.ts'
import type { ApiKey } from './key-state.ts'
import { refreshKeys, revokeKey } from './writes.ts'

/** Ends a key, after saying what stops with it. */
export function RevokeKey({ apiKey, isOwn }: { apiKey: ApiKey; isOwn: boolean }) {
  const [isOpen, { open, close }] = useDisclosure()
  const { submit, isPending, error, reset } = useSubmission({
    send: () => revokeKey(apiKey.id),
    onDone: async () => {
      await (isOwn ? signOut() : refreshKeys())
      close()
      notifications.show({ message: `The key ${apiKey.name} is revoked.` })
      if (isOwn) changeSession(null)
    },
  })
  const begin = () => {
    reset()
    open()
  }
  const label = `Revoke ${apiKey.name}`
  return (
    <>
      <Tooltip label={label}>
        <ActionIcon variant="default" aria-label={label} onClick={begin}>
          <IconBan size={16} aria-hidden />
        </ActionIcon>
      </Tooltip>
      <FormModal
        title={`${label}?`}
        isOpen={isOpen}
        onClose={close}
        act="Revoke the key"
        isDestructive
        onSubmit={() => submit(undefined)}
        isPending={isPending}
        error={error}
      >
        <Text size="sm">
          What uses the key {apiKey.prefix}… is refused within 30 seconds, everywhere and for good. Whoever signed in
          here with it is signed out. What was done with it stays, and so does its row in this list.
        </Text>
        {isOwn && (
          <Text size="sm" fw={600}>
            You are signed in with this key yourself, and will be signed out.
          </Text>
        )}
      </FormModal>
    </>
  )
}
