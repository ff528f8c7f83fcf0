import { Button } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useRefusal } from '../parts/scopes.tsx'
import { AssignDialog } from './assign-dialog.tsx'
import type { Assigned } from './writes.ts'

interface AssignButtonProps {
  label: string
  title: string
  spans: Assigned
}

/** A button to assign spans, for people who may assign them. */
export function AssignButton({ label, title, spans }: AssignButtonProps) {
  const [isOpen, { open, close }] = useDisclosure()
  if (useRefusal('manage', 'assign outputs') !== null) return null
  return (
    <>
      <Button size="compact-sm" variant="default" onClick={open}>
        {label}
      </Button>
      {isOpen && <AssignDialog title={title} spans={spans} onClose={close} />}
    </>
  )
}
