import { useEffect, useRef } from 'react'
import { type Command, commandOf, takesText } from './keys.ts'

/** Answers whether it did something with a command; then the key does nothing else. */
export type Commands = Partial<Record<Command, (event: KeyboardEvent) => boolean | undefined>>

/** Does something, and says so to the keys. */
export function did(act: () => unknown): true {
  act()
  return true
}

/**
 * Runs commands by their keys. Letters that are typed into something stay letters; with a dialog or the menu of a list open
 * all keys are its own.
 */
export function useKeys(commands: Commands): void {
  const current = useRef(commands)
  current.current = commands
  useEffect(() => {
    // Before editors see it: to CodeMirror, too, Ctrl+Enter means something.
    const onKey = (event: KeyboardEvent) => {
      // A button that Enter is held down on is pressed once: the items that follow were not seen.
      if (event.repeat && event.key === 'Enter' && event.target instanceof HTMLButtonElement) event.preventDefault()
      if (isElsewhere(event.target)) return
      const command = commandOf(event, takesText(event.target))
      if (!command || current.current[command]?.(event) !== true) return
      event.preventDefault()
      event.stopPropagation()
    }
    addEventListener('keydown', onKey, { capture: true })
    return () => removeEventListener('keydown', onKey, { capture: true })
  }, [])
}

const isElsewhere = (target: EventTarget | null): boolean =>
  target instanceof Element &&
  (target.closest('[role="dialog"], [role="menu"], [role="listbox"]') !== null ||
    (target.getAttribute('aria-expanded') === 'true' && target.matches('input')) ||
    document.querySelector('[role="dialog"][aria-modal="true"]') !== null)
