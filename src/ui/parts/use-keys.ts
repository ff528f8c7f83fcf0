import { useEffect, useRef } from 'react'
import { commandOf, type Shortcut, takesText } from './keys.ts'

/** A handler for each command, which returns whether it handled the key. A handled key has no other effect. */
export type Commands<Command extends string> = Partial<Record<Command, (event: KeyboardEvent) => boolean | undefined>>

/** Runs an action and reports the key as handled. */
export function handle(act: () => unknown): true {
  act()
  return true
}

/**
 * Runs commands when their keys are pressed. Letters typed into a field aren't commands. Open dialogs, open lists, and
 * search fields get all keys.
 */
export function useKeys<Command extends string>(
  shortcuts: readonly Shortcut<Command>[],
  commands: Commands<Command>,
): void {
  const current = useRef({ shortcuts, commands })
  current.current = { shortcuts, commands }
  useEffect(() => {
    // Captures keys before CodeMirror, which also handles Ctrl+Enter.
    const onKey = (event: KeyboardEvent) => {
      // Holding Enter on a button presses it only once, because nobody has seen the next items.
      if (event.repeat && event.key === 'Enter' && event.target instanceof HTMLButtonElement) event.preventDefault()
      if (isOutsidePage(event.target)) return
      const { shortcuts, commands } = current.current
      const command = commandOf(shortcuts, event, takesText(event.target))
      if (!command || commands[command]?.(event) !== true) return
      event.preventDefault()
      event.stopPropagation()
    }
    addEventListener('keydown', onKey, { capture: true })
    return () => removeEventListener('keydown', onKey, { capture: true })
  }, [])
}

const isOutsidePage = (target: EventTarget | null): boolean =>
  target instanceof Element &&
  (target.closest('[role="dialog"], [role="menu"], [role="listbox"], [role="search"]') !== null ||
    (target.getAttribute('aria-expanded') === 'true' && target.matches('input')) ||
    document.querySelector('[role="dialog"][aria-modal="true"]') !== null)
