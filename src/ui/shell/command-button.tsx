import { Group, Kbd, Text, UnstyledButton } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { lazy, Suspense, useState } from 'react'
import { IconSearch } from '../icons/index.ts'
import classes from './command-button.module.css'

const CommandPalette = lazy(async () => ({ default: (await import('./command-palette.tsx')).CommandPalette }))

const isMac = /Mac|iPhone|iPad/.test(navigator.platform)

/** Opens the command palette, which loads on first use. */
export function CommandButton() {
  const [isOpen, setOpen] = useState(false)
  useHotkeys([['mod+K', () => setOpen(true)]])
  return (
    <>
      <UnstyledButton className={classes.button} onClick={() => setOpen(true)}>
        <Group gap="xs" wrap="nowrap">
          <IconSearch size={14} aria-hidden />
          <Text size="xs" flex={1}>
            Go to…
          </Text>
          <Kbd size="xs">{isMac ? '⌘' : 'Ctrl'} K</Kbd>
        </Group>
      </UnstyledButton>
      {isOpen && (
        <Suspense>
          <CommandPalette onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  )
}
