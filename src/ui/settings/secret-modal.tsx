import { Modal } from '@mantine/core'
import type { NewApiKey } from '../api/wire.ts'
import { KeySecret } from './key-secret.tsx'

interface SecretModalProps {
  /** Undefined: none is shown. */
  apiKey: NewApiKey | undefined
  onDone: () => void
}

/** Shows a new key's secret until somebody says to have it: no stray click takes it away. */
export const SecretModal = ({ apiKey, onDone }: SecretModalProps) => (
  <Modal
    opened={apiKey !== undefined}
    onClose={onDone}
    title={apiKey && `The key ${apiKey.name}`}
    size="lg"
    closeOnClickOutside={false}
    closeOnEscape={false}
    withCloseButton={false}
  >
    {apiKey && <KeySecret apiKey={apiKey} onDone={onDone} />}
  </Modal>
)
