import { ActionIcon, Tooltip } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import type { Session } from '../api/wire.ts'
import { IconPencil } from '../icons/index.ts'
import { fieldFaults } from '../parts/field-faults.ts'
import { FormModal } from '../parts/form-modal.tsx'
import { useSubmission } from '../parts/use-submission.ts'
import { changesIn } from './changes.ts'
import { KeyRights } from './key-fields.tsx'
import type { ApiKey } from './key-state.ts'
import { changeKey, refreshKeys } from './writes.ts'

const FIELDS = ['name', 'scopes', 'expiresAt', 'rateLimitPerMinute'] as const

/** Changes what a key is called and what it may do. */
export function EditKey({ apiKey, session }: { apiKey: ApiKey; session: Session }) {
  const [isOpen, { open, close }] = useDisclosure()
  const [draft, setDraft] = useState(apiKey)
  const { submit, isPending, error, reset } = useSubmission({
    send: (changed: ApiKey) => changeKey(apiKey.id, changesIn(apiKey, changed, FIELDS)),
    onDone: async ({ name }) => {
      await refreshKeys()
      close()
      notifications.show({ message: `Changes to ${name} saved. They apply everywhere within 30 seconds.` })
    },
  })
  const faults = fieldFaults(error, [...FIELDS])
  const begin = () => {
    setDraft(apiKey)
    reset()
    open()
  }
  const label = `Edit ${apiKey.name}`
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
        onSubmit={() => submit({ ...draft, name: draft.name.trim() })}
        isPending={isPending}
        error={faults.rest}
        isDisabled={draft.scopes.length === 0}
      >
        <KeyRights
          session={session}
          draft={draft}
          onChange={part => setDraft(current => ({ ...current, ...part }))}
          faults={faults}
        />
      </FormModal>
    </>
  )
}
