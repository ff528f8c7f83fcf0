import { ActionIcon, Select, Text, Tooltip } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import type { NewApiKey } from '../api/wire.ts'
import { IconRefresh } from '../icons/index.ts'
import { fieldFaults } from '../parts/field-faults.ts'
import { FormModal } from '../parts/form-modal.tsx'
import { useSubmission } from '../parts/use-submission.ts'
import type { ApiKey } from './key-state.ts'
import { rotateKey } from './writes.ts'

const HOUR = 3_600
const GRACES = [
  { value: '0', label: 'Stops immediately' },
  { value: String(HOUR), label: 'Works for another hour' },
  { value: String(24 * HOUR), label: 'Works for another day' },
  { value: String(7 * 24 * HOUR), label: 'Works for another 7 days' },
  { value: String(30 * 24 * HOUR), label: 'Works for another 30 days' },
]

interface RotateKeyProps {
  apiKey: ApiKey
  /** Whether somebody would end their own session with it. */
  isOwn: boolean
  onMade: (successor: NewApiKey) => void
}

/** Puts a new key with the same rights in a key's place. */
export function RotateKey({ apiKey, isOwn, onMade }: RotateKeyProps) {
  const [isOpen, { open, close }] = useDisclosure()
  const [grace, setGrace] = useState(String(24 * HOUR))
  const { submit, isPending, error, reset } = useSubmission({
    send: (graceSeconds: number) => rotateKey(apiKey.id, graceSeconds),
    onDone: successor => {
      close()
      onMade(successor)
    },
  })
  const faults = fieldFaults(error, ['graceSeconds'])
  const begin = () => {
    reset()
    open()
  }
  const label = `Replace ${apiKey.name}`
  return (
    <>
      <Tooltip label={label}>
        <ActionIcon variant="default" aria-label={label} onClick={begin}>
          <IconRefresh size={16} aria-hidden />
        </ActionIcon>
      </Tooltip>
      <FormModal
        title={`${label}?`}
        isOpen={isOpen}
        onClose={close}
        act="Create the new key"
        onSubmit={() => submit(Number(grace))}
        isPending={isPending}
        error={faults.rest}
      >
        <Text size="sm">
          A new key with the same name, project, scopes, user, limit and expiry takes its place. Put it everywhere the
          old one is used before that one stops.
        </Text>
        <Select
          label={`The old key, ${apiKey.prefix}…`}
          description={
            isOwn ? "You're signed in with it. If it stopped at once, you couldn't see the new one." : undefined
          }
          data={isOwn ? GRACES.slice(1) : GRACES}
          allowDeselect={false}
          value={grace}
          onChange={value => value !== null && setGrace(value)}
          error={faults.of('graceSeconds')}
        />
      </FormModal>
    </>
  )
}
