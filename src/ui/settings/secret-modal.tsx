import { Modal } from '@mantine/core'
import type { ReactNode } from 'react'
import { useHeldPage } from '../parts/use-held-page.ts'

interface SecretModalProps {
  /** Undefined if there's no secret to show. */
  title: string | undefined
  onDone: () => void
  /** The content, with a button to confirm that the secret has been copied. */
  children: (done: () => void) => ReactNode
}

/** Shows a secret until the user confirms that it's copied. A stray click or the Back button doesn't close it. */
export function SecretModal({ title, onDone, children }: SecretModalProps) {
  const release = useHeldPage(title !== undefined)
  const done = () => {
    onDone()
    release()
  }
  return (
    <Modal
      opened={title !== undefined}
      onClose={done}
      title={title}
      size="lg"
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      {children(done)}
    </Modal>
  )
}
