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

/** Marks the fields of a decision, so that keys can focus them. */
export const FIELD = 'data-decision-field'

/** What an adjudicator does with reviewers' votes. */
type VoteCommand = 'take' | 'compare' | 'reason' | 'type'

export const VOTE_KEYS: readonly Shortcut<VoteCommand>[] = [
  { keys: ['1-9'], command: 'take', label: "Decide in favor of this reviewer's vote" },
  { keys: ['D'], command: 'compare', label: 'Compare the votes with the output, or with another vote' },
  { keys: ['R'], command: 'reason', label: 'Write a reason' },
  { keys: ['T'], command: 'type', label: 'Choose an error type' },
]

/** The shortcuts for the adjudication queue, as the help lists them. */
export const ADJUDICATION_KEYS: readonly Shortcut<Command | VoteCommand>[] = [
  ...VOTE_KEYS,
  ...KEYS.filter(({ command }) => command !== 'errorType' && command !== 'wrong'),
]

/** Runs the inbox's commands when their keys are pressed. */
export const useInboxKeys = (commands: Commands<Command>): void => useKeys(KEYS, commands)
