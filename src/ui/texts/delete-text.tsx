import { ActionIcon, Code, Text, TextInput, Tooltip } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { queryClient } from '../api/query-client.ts'
import { IconTrash } from '../icons/index.ts'
import { FormModal } from '../parts/form-modal.tsx'
import { useSubmission } from '../parts/use-submission.ts'
import type { TextKind, VersionedText } from './kinds.ts'
import { deleteText } from './writes.ts'

/** Deletes a text with all its versions, once its name was typed. */
export function DeleteText({ kind, text }: { kind: TextKind; text: VersionedText }) {
  const [isOpen, { open, close }] = useDisclosure()
  const [typed, setTyped] = useState('')
  const [, navigate] = useLocation()
  const { submit, isPending, error, reset } = useSubmission({
    send: () => deleteText(kind, text.id),
    onDone: () => {
      notifications.show({ message: `${text.name} deleted.` })
      queryClient.removeQueries({ queryKey: ['texts', kind.key] })
      navigate(kind.path)
    },
  })
  const begin = () => {
    reset()
    setTyped('')
    open()
  }
  const label = `Delete this ${kind.one}`
  return (
    <>
      <Tooltip label={label}>
        <ActionIcon variant="default" size={30} aria-label={label} onClick={begin}>
          <IconTrash size={16} aria-hidden />
        </ActionIcon>
      </Tooltip>
      <FormModal
        isOpen={isOpen}
        onClose={close}
        title={`${label}?`}
        act={label}
        onSubmit={() => submit(undefined)}
        isPending={isPending}
        error={error}
        isDestructive
        isDisabled={typed !== text.name}
      >
        <Text size="sm">
          This deletes {text.versions.length === 1 ? 'its only version' : `all of its ${text.versions.length} versions`}
          . Pipelines that ask for it get nothing. Spans and reviews stay, with the ids of the versions they used. This
          can't be undone.
        </Text>
        <TextInput
          label={
            <>
              Type <Code>{text.name}</Code> to delete it
            </>
          }
          autoComplete="off"
          spellCheck={false}
          data-autofocus
          value={typed}
          onChange={({ currentTarget }) => setTyped(currentTarget.value)}
        />
      </FormModal>
    </>
  )
}
