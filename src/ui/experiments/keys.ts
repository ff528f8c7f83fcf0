import type { Shortcut } from '../parts/keys.ts'
import { type Commands, useKeys } from '../parts/use-keys.ts'

type Command = 'accept' | 'reject' | 'comment' | 'next' | 'previous' | 'leave' | 'help'

/** A report's shortcuts, in the order that the help lists them. */
export const KEYS: readonly Shortcut<Command>[] = [
  { keys: ['A'], command: 'accept', label: "Accept the candidate's output" },
  { keys: ['R'], command: 'reject', label: "Reject the candidate's output" },
  { keys: ['C'], command: 'comment', label: 'Add a comment to the decision' },
  { keys: ['Esc'], command: 'leave', label: 'Leave the comment' },
  { keys: ['J'], command: 'next', label: 'Next item', isRepeatable: true },
  { keys: ['K'], command: 'previous', label: 'Previous item', isRepeatable: true },
  { keys: ['?'], command: 'help', label: 'Show keyboard shortcuts' },
]

/** Runs a report's commands when their keys are pressed. */
export const useReportKeys = (commands: Commands<Command>): void => useKeys(KEYS, commands)
