import { Button } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { lazy, Suspense } from 'react'
import { IconFlask } from '../icons/index.ts'
import { LateModal } from '../parts/late-modal.tsx'
import type { Version, VersionedText } from './kinds.ts'

const TryForm = lazy(async () => ({ default: (await import('./try-form.tsx')).TryForm }))

/** Lets the model run a version of a prompt on one item, in a dialog. */
export function TryOnItem({ text, version }: { text: VersionedText; version: Version }) {
  const [isOpen, { open, close }] = useDisclosure()
  return (
    <>
      <Button size="xs" variant="default" leftSection={<IconFlask size={14} aria-hidden />} onClick={open}>
        Try on one item
      </Button>
      <LateModal
        opened={isOpen}
        onClose={close}
        title={`Try version ${version.number} on one item`}
        size="70rem"
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <Suspense>
          <TryForm key={version.id} stepId={text.name} version={version} />
        </Suspense>
      </LateModal>
    </>
  )
}
