import { useHotkeys } from '@mantine/hooks'
import { lazy, Suspense, useState } from 'react'
import { CommandLabel } from './frame.tsx'

const CommandPalette = lazy(async () => ({ default: (await import('./command-palette.tsx')).CommandPalette }))

const KEYS = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘ K' : 'Ctrl K'

/** Opens the command palette, which loads on first use. */
export function CommandButton() {
  const [isOpen, setOpen] = useState(false)
  useHotkeys([['mod+K', () => setOpen(true)]])
  return (
    <>
      <button type="button" className="frame-command" onClick={() => setOpen(true)}>
        <CommandLabel keys={KEYS} />
      </button>
      {isOpen && (
        <Suspense>
          <CommandPalette onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  )
}
