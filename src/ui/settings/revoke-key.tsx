import { ActionIcon, Text, Tooltip } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { notifications } from '@mantine/notifications'
import { changeSession } from '../api/query-client.ts'
import { signOut } from '../api/session.ts'
import { IconBan } from '../icons/index.ts'
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
      notifications.show({ message: `Key ${apiKey.name} revoked.` })
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
        act="Revoke key"
        isDestructive
        onSubmit={() => submit(undefined)}
        isPending={isPending}
        error={error}
      >
        <Text size="sm">
          The key {apiKey.prefix}… stops working everywhere within 30 seconds, and anyone signed in with it is signed
          out. What was done with the key stays, and it stays in this list. This can't be undone.
        </Text>
        {isOwn && (
          <Text size="sm" fw={600}>
            You're signed in with this key, so you'll be signed out.
          </Text>
        )}
      </FormModal>
    </>
  )
}
