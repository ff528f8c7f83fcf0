import { Button, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { notifications } from '@mantine/notifications'
import { FormModal } from '../parts/form-modal.tsx'
import { useSubmission } from '../parts/use-submission.ts'
import type { TextKind, Version, VersionedText } from './kinds.ts'
import { activateVersion, refreshTexts } from './writes.ts'

interface ActivateVersionProps {
  kind: TextKind
  text: VersionedText
  version: Version
}

/** Makes a version the active one, which for an earlier one is the way back, after saying what that changes. */
export function ActivateVersion({ kind, text, version }: ActivateVersionProps) {
  const [isOpen, { open, close }] = useDisclosure()
  const active = text.versions.find(({ isActive }) => isActive)
  const act = active && active.number > version.number ? 'Roll back to' : 'Activate'
  const { submit, isPending, error, reset } = useSubmission({
    send: () => activateVersion(kind, text.id, version.id),
    onDone: async () => {
      await refreshTexts(kind, text.id)
      close()
      notifications.show({ message: `Version ${version.number} is active.` })
    },
  })
  const begin = () => {
    reset()
    open()
    // Another version may be active by now.
    void refreshTexts(kind, text.id)
  }
  return (
    <>
      <Button size="xs" variant="light" onClick={begin}>
        {act} version {version.number}
      </Button>
      <FormModal
        isOpen={isOpen}
        onClose={close}
        title={`${act} version ${version.number}?`}
        act={`${act} version ${version.number}`}
        onSubmit={() => submit(undefined)}
        isPending={isPending}
        error={error}
      >
        <Text size="sm">
          Version {version.number} will be active{active && ` instead of version ${active.number}`}. {kind.readers}
        </Text>
        <Text size="sm" c="dimmed">
          Spans keep the version they were made with, and reviews stay. You can go back at any time.
        </Text>
      </FormModal>
    </>
  )
}
