import { Modal } from '@mantine/core'
import type { NewApiKey } from '../api/wire.ts'
import { useHeldPage } from '../parts/use-held-page.ts'
import { KeySecret } from './key-secret.tsx'

interface SecretModalProps {
  /** Undefined to show none. */
  apiKey: NewApiKey | undefined
  onDone: () => void
}

/** Shows a new key's secret until it is confirmed as copied. A stray click or going back doesn't close it. */
export function SecretModal({ apiKey, onDone }: SecretModalProps) {
  const release = useHeldPage(apiKey !== undefined)
  const done = () => {
    onDone()
    release()
  }
  return (
    <Modal
      opened={apiKey !== undefined}
      onClose={done}
      title={apiKey && `Key ${apiKey.name}`}
      size="lg"
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      {apiKey && <KeySecret apiKey={apiKey} onDone={done} />}
    </Modal>
  )
}
