import type { Shortcut } from '../parts/keys.ts'
import { type Commands, useKeys } from '../parts/use-keys.ts'

/** A key's action in the inbox. */
type Command =
  | 'accept'
  | 'wrong'
  | 'errorType'
  | 'edit'
  | 'save'
  | 'skip'
  | 'comment'
  | 'next'
  | 'previous'
  | 'undo'
  | 'filter'
  | 'help'
  | 'leave'

/** The shortcuts in the order that the help lists them. */
export const KEYS: readonly Shortcut<Command>[] = [
  { keys: ['A'], command: 'accept', label: 'Accept the output' },
  { keys: ['W'], command: 'wrong', label: 'Mark the output as wrong' },
  { keys: ['1-9'], command: 'errorType', label: 'Choose an error type' },
  { keys: ['E'], command: 'edit', label: 'Edit the output' },
  { keys: ['mod', 'Enter'], command: 'save', label: 'Save and go to the next item, or post a comment' },
  { keys: ['Esc'], command: 'leave', label: 'Leave the editor or field and keep the draft' },
  { keys: ['S'], command: 'skip', label: 'Skip the item for now' },
  { keys: ['C'], command: 'comment', label: 'Comment without deciding' },
  { keys: ['J'], command: 'next', label: 'Next item', isRepeatable: true },
  { keys: ['K'], command: 'previous', label: 'Previous item', isRepeatable: true },
  { keys: ['U'], command: 'undo', label: 'Undo the last decision and go back to its item' },
  { keys: ['F'], command: 'filter', label: 'Add a filter' },
  { keys: ['?'], command: 'help', label: 'Show keyboard shortcuts' },
]

/** Runs the inbox's commands by their keys. */
export const useInboxKeys = (commands: Commands<Command>): void => useKeys(KEYS, commands)
