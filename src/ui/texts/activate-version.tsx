import { Button, Text } from '@mantine/core'
import { DialogForm } from '../parts/dialog-form.tsx'
import type { TextKind, Version, VersionedText } from './kinds.ts'
import { activateVersion, refreshTexts } from './writes.ts'

interface ActivateVersionProps {
  kind: TextKind
  text: VersionedText
  version: Version
}

/** Activates a version, or rolls back to an earlier one, after explaining what changes. */
export function ActivateVersion({ kind, text, version }: ActivateVersionProps) {
  const active = text.versions.find(({ isActive }) => isActive)
  const act = `${active && active.number > version.number ? 'Roll back to' : 'Activate'} version ${version.number}`
  return (
    <DialogForm
      trigger={open => (
        <Button size="xs" variant="light" onClick={open}>
          {act}
        </Button>
      )}
      title={`${act}?`}
      initial={{}}
      button={() => ({ act })}
      send={() => activateVersion(kind, text.id, version.id)}
      // Another version may be active by now.
      onOpen={() => refreshTexts(kind, text.id)}
      onDone={() => refreshTexts(kind, text.id)}
      notice={() => `Version ${version.number} is now active.`}
    >
      {() => (
        <>
          <Text size="sm">
            {active
              ? `Version ${version.number} will replace version ${active.number} as the active version.`
              : `Version ${version.number} will become the active version.`}{' '}
            {kind.readers}
          </Text>
          <Text size="sm" c="dimmed">
            Existing spans and reviews don't change. You can switch back at any time.
          </Text>
        </>
      )}
    </DialogForm>
  )
}
