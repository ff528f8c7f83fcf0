/** A keyboard shortcut on a page. */
export interface Shortcut<Command extends string> {
  /** A character, `1-9` for any of these digits, `Esc`, or `mod` and `Enter`. `mod` is Ctrl, or Cmd on a Mac. */
  keys: readonly string[]
  command: Command
  label: string
  /** Whether holding the key down repeats the command. */
  isRepeatable?: boolean
}

type Pressed = Pick<KeyboardEvent, 'key' | 'code' | 'ctrlKey' | 'metaKey' | 'altKey' | 'isComposing' | 'repeat'>

/**
 * The command for a pressed key, if any. `isTyping` means that the key was pressed in a text field, which takes
 * letters. Holding a key down triggers its command only once, unless the shortcut is repeatable. On keyboards without
 * Latin letters, a key is matched by its position.
 */
export function commandOf<Command extends string>(
  shortcuts: readonly Shortcut<Command>[],
  pressed: Pressed,
  isTyping: boolean,
): Command | undefined {
  if (pressed.isComposing) return undefined
  const name = nameOf(pressed, isTyping)
  const shortcut = shortcuts.find(({ keys }) => isPressed(keys, name))
  const isHeld = pressed.repeat && name !== 'esc' && !shortcut?.isRepeatable
  return isHeld ? undefined : shortcut?.command
}

const isPressed = (keys: readonly string[], name: string | undefined): boolean =>
  name !== undefined && (keys[0] === '1-9' ? /^[1-9]$/.test(name) : keys.join('+').toLowerCase() === name)

/** The name that shortcuts use for a pressed key; undefined if the key is for a text field or the browser. */
function nameOf(pressed: Pressed, isTyping: boolean): string | undefined {
  const isMod = pressed.ctrlKey || pressed.metaKey
  if (pressed.key === 'Enter') return isMod && !pressed.altKey ? 'mod+enter' : undefined
  if (pressed.key === 'Escape') return 'esc'
  if (isTyping || isMod || pressed.altKey) return undefined
  const isLatin = /^[ -~]$/.test(pressed.key)
  return (isLatin ? pressed.key : pressed.code.replace(/^Key/, '')).toLowerCase()
}

const TEXTLESS = new Set(['button', 'checkbox', 'color', 'file', 'image', 'radio', 'range', 'reset', 'submit'])

/** Whether an element takes letters: a text field, a select, or an editor. */
export function takesText(element: EventTarget | null): boolean {
  if (!(element instanceof HTMLElement)) return false
  if (element instanceof HTMLInputElement) return !TEXTLESS.has(element.type)
  return (
    element instanceof HTMLTextAreaElement ||
    element instanceof HTMLSelectElement ||
    (element.isContentEditable && element.getAttribute('aria-readonly') !== 'true')
  )
}
