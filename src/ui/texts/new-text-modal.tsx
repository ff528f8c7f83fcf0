import { Modal } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import type { TextKind } from './kinds.ts'
import { NewTextForm } from './new-text-form.tsx'

interface NewTextModalProps {
  kind: TextKind
  projectSlug: string
  isOpen: boolean
  onClose: () => void
}

/** Asks for a new text; what is typed stays as a draft when it is closed. */
export function NewTextModal({ kind, projectSlug, isOpen, onClose }: NewTextModalProps) {
  const isNarrow = useMediaQuery('(max-width: 48em)')
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title={`New ${kind.one}`}
      size="xl"
      fullScreen={isNarrow ?? false}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <NewTextForm kind={kind} projectSlug={projectSlug} onClose={onClose} />
    </Modal>
  )
}
