/** A key's action in the inbox. */
export type Command = 'accept' | 'edit' | 'save' | 'skip' | 'comment' | 'next' | 'previous' | 'undo' | 'help' | 'leave'

/** The shortcuts in the order that the help lists them. `mod` is Ctrl, or Cmd on a Mac. */
export const KEYS: readonly { keys: readonly string[]; command: Command; label: string }[] = [
  { keys: ['A'], command: 'accept', label: 'Accept the output' },
  { keys: ['E'], command: 'edit', label: 'Edit the output' },
  { keys: ['mod', 'Enter'], command: 'save', label: 'Save and go to the next item, or post a comment' },
  { keys: ['Esc'], command: 'leave', label: 'Leave the editor or field and keep the draft' },
  { keys: ['S'], command: 'skip', label: 'Skip the item for now' },
  { keys: ['C'], command: 'comment', label: 'Comment without deciding' },
  { keys: ['J'], command: 'next', label: 'Next item' },
  { keys: ['K'], command: 'previous', label: 'Previous item' },
  { keys: ['U'], command: 'undo', label: 'Undo the last decision and go back to its item' },
  { keys: ['?'], command: 'help', label: 'Show keyboard shortcuts' },
]

const LETTERS: ReadonlyMap<string, Command> = new Map(
  KEYS.flatMap(({ keys: [key = '', ...more], command }) =>
    more.length === 0 && key.length === 1 ? [[key.toLowerCase(), command] as const] : [],
  ),
)

type Pressed = Pick<KeyboardEvent, 'key' | 'code' | 'ctrlKey' | 'metaKey' | 'altKey' | 'isComposing' | 'repeat'>

/**
 * The command of a pressed key, if any. `isTyping`: the key was pressed in a text field, which takes letters. A held
 * key decides only once. Keyboards without Latin letters are matched by the key's position.
 */
export function commandOf(pressed: Pressed, isTyping: boolean): Command | undefined {
  if (pressed.isComposing) return undefined
  const isMod = pressed.ctrlKey || pressed.metaKey
  if (pressed.key === 'Enter') return isMod && !pressed.altKey && !pressed.repeat ? 'save' : undefined
  if (pressed.key === 'Escape') return 'leave'
  if (isTyping || isMod || pressed.altKey) return undefined
  const isLatin = /^[ -~]$/.test(pressed.key)
  const command = LETTERS.get(isLatin ? pressed.key.toLowerCase() : pressed.code.replace(/^Key/, '').toLowerCase())
  const isMove = command === 'next' || command === 'previous'
  return pressed.repeat && !isMove ? undefined : command
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
