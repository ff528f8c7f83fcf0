import { Button } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import type { NewApiKey, Session } from '../api/wire.ts'
import { IconPlus } from '../icons/index.ts'
import { fieldFaults } from '../parts/field-faults.ts'
import { FormModal } from '../parts/form-modal.tsx'
import { useSubmission } from '../parts/use-submission.ts'
import { KeyFields } from './key-fields.tsx'
import { createKey, type KeyDraft } from './writes.ts'

const FIELDS = ['name', 'projectSlug', 'scopes', 'userId', 'expiresAt', 'rateLimitPerMinute']

/** Makes an API key. */
export function NewKey({ session, onMade }: { session: Session; onMade: (apiKey: NewApiKey) => void }) {
  const [isOpen, { open, close }] = useDisclosure()
  const [draft, setDraft] = useState(() => emptyKey(session))
  const { submit, isPending, error, reset } = useSubmission({
    send: createKey,
    onDone: apiKey => {
      close()
      onMade(apiKey)
    },
  })
  const faults = fieldFaults(error, FIELDS)
  const begin = () => {
    setDraft(emptyKey(session))
    reset()
    open()
  }
  return (
    <>
      <Button size="xs" leftSection={<IconPlus size={14} aria-hidden />} onClick={begin}>
        New key
      </Button>
      <FormModal
        title="New API key"
        isOpen={isOpen}
        onClose={close}
        act="Create key"
        onSubmit={() => submit({ ...draft, name: draft.name.trim() })}
        isPending={isPending}
        error={faults.rest}
        isDisabled={draft.scopes.length === 0}
      >
        <KeyFields
          session={session}
          draft={draft}
          onChange={part => setDraft(current => ({ ...current, ...part }))}
          faults={faults}
        />
      </FormModal>
    </>
  )
}

const emptyKey = ({ project }: Session): KeyDraft => ({
  name: '',
  projectSlug: project?.slug ?? null,
  scopes: [],
  userId: null,
  expiresAt: null,
  rateLimitPerMinute: null,
})
