import { Modal as MantineModal, type ModalProps } from '@mantine/core'
import { useEffect, useState } from 'react'

/** Opens one render late: Mantine returns the focus only to what had it before a change of `opened`. */
export function Modal({ opened, ...props }: ModalProps) {
  const [isShown, setShown] = useState(false)
  useEffect(() => setShown(opened), [opened])
  return <MantineModal {...props} opened={isShown} />
}
