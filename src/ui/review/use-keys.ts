import { useEffect, useRef } from 'react'
import { type Command, commandOf, takesText } from './keys.ts'

/** Each returns whether it handled its command. A handled key does nothing else. */
export type Commands = Partial<Record<Command, (event: KeyboardEvent) => boolean | undefined>>

/** Runs an action and reports the key as handled. */
export function handle(act: () => unknown): true {
  act()
  return true
}

/**
 * Runs commands by their keys. Letters typed into a field aren't commands, and an open dialog or list gets all keys.
 */
export function useKeys(commands: Commands): void {
  const current = useRef(commands)
  current.current = commands
  useEffect(() => {
    // Captured before CodeMirror, which also handles Ctrl+Enter.
    const onKey = (event: KeyboardEvent) => {
      // Holding Enter on a button presses it only once, because nobody has seen the next items.
      if (event.repeat && event.key === 'Enter' && event.target instanceof HTMLButtonElement) event.preventDefault()
      if (isOutsideInbox(event.target)) return
      const command = commandOf(event, takesText(event.target))
      if (!command || current.current[command]?.(event) !== true) return
      event.preventDefault()
      event.stopPropagation()
    }
    addEventListener('keydown', onKey, { capture: true })
    return () => removeEventListener('keydown', onKey, { capture: true })
  }, [])
}

const isOutsideInbox = (target: EventTarget | null): boolean =>
  target instanceof Element &&
  (target.closest('[role="dialog"], [role="menu"], [role="listbox"]') !== null ||
    (target.getAttribute('aria-expanded') === 'true' && target.matches('input')) ||
    document.querySelector('[role="dialog"][aria-modal="true"]') !== null)
