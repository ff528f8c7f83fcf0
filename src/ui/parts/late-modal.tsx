import type { ModalProps } from '@mantine/core'
import { lazy, Suspense, useState } from 'react'

const Modal = lazy(async () => ({ default: (await import('./modal.tsx')).Modal }))

/** Mantine's dialog, which loads on first use. */
export function LateModal(props: ModalProps) {
  const [isUsed, setUsed] = useState(false)
  if (!isUsed && props.opened) setUsed(true)
  return (
    isUsed && (
      <Suspense>
        <Modal {...props} />
      </Suspense>
    )
  )
}
