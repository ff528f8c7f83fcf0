import { Modal as MantineModal, type ModalProps } from '@mantine/core'
import { useEffect, useState } from 'react'

/** Opens one render late, because Mantine returns focus only to an element that had it before `opened` changed. */
export function Modal({ opened, ...props }: ModalProps) {
  const [isShown, setShown] = useState(false)
  useEffect(() => setShown(opened), [opened])
  return <MantineModal {...props} opened={isShown} />
}
