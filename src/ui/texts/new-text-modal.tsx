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

/** The dialog for a new text. Closing it keeps the draft. */
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
