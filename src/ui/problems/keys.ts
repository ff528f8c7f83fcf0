import type { Shortcut } from '../parts/keys.ts'

/** The board's shortcuts. */
export const BOARD_KEYS = [
  { keys: ['J'], command: 'next', label: 'Next problem', isRepeatable: true },
  { keys: ['K'], command: 'previous', label: 'Previous problem', isRepeatable: true },
  { keys: ['?'], command: 'help', label: 'Show keyboard shortcuts' },
] as const satisfies Shortcut<string>[]

/** A problem's shortcuts. */
export const PROBLEM_KEYS = [
  { keys: ['J'], command: 'next', label: 'Next example', isRepeatable: true },
  { keys: ['K'], command: 'previous', label: 'Previous example', isRepeatable: true },
  { keys: ['?'], command: 'help', label: 'Show keyboard shortcuts' },
] as const satisfies Shortcut<string>[]
