/** What a key does in the inbox. */
export type Command = 'accept' | 'edit' | 'save' | 'skip' | 'comment' | 'next' | 'previous' | 'undo' | 'help' | 'leave'

/** The keys as they are shown, in the order of their use. `mod` is Ctrl, or Cmd on a Mac. */
export const KEYS: readonly { keys: readonly string[]; command: Command; label: string }[] = [
  { keys: ['A'], command: 'accept', label: 'Accept the output as it is' },
  { keys: ['E'], command: 'edit', label: 'Edit the output' },
  { keys: ['mod', 'Enter'], command: 'save', label: 'Save and next; in a comment, post it' },
  { keys: ['Esc'], command: 'leave', label: 'Leave the editor or a field; what was written stays' },
  { keys: ['S'], command: 'skip', label: 'Skip: leave it to somebody else, or for later' },
  { keys: ['C'], command: 'comment', label: 'Comment without deciding' },
  { keys: ['J'], command: 'next', label: 'Next item' },
  { keys: ['K'], command: 'previous', label: 'Previous item' },
  { keys: ['U'], command: 'undo', label: 'Undo the last decision and go back to it' },
  { keys: ['?'], command: 'help', label: 'Show these keys' },
]

const LETTERS: ReadonlyMap<string, Command> = new Map(
  KEYS.flatMap(({ keys: [key = '', ...more], command }) =>
    more.length === 0 && key.length === 1 ? [[key.toLowerCase(), command] as const] : [],
  ),
)

type Pressed = Pick<KeyboardEvent, 'key' | 'code' | 'ctrlKey' | 'metaKey' | 'altKey' | 'isComposing' | 'repeat'>

/**
 * The command of a pressed key, if it is one. `isTyping`: a text is being written where it was pressed, which letters then
 * belong to. A key that is held down decides once. On keyboards without Latin letters the places of the keys count.
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

/** Whether an element takes letters: a text field, a list that is searched by typing, an editor. */
export function takesText(element: EventTarget | null): boolean {
  if (!(element instanceof HTMLElement)) return false
  if (element instanceof HTMLInputElement) return !TEXTLESS.has(element.type)
  return (
    element instanceof HTMLTextAreaElement ||
    element instanceof HTMLSelectElement ||
    (element.isContentEditable && element.getAttribute('aria-readonly') !== 'true')
  )
}
