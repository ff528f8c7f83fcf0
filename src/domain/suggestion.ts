/** A change to a prompt: the text between `start` and the end of `before` becomes `after`. */
export interface TextChange {
  /** The offset in the prompt, in UTF-16 units. */
  start: number
  before: string
  after: string
}

/** A change that a model suggests. */
export interface SuggestedChange extends TextChange {
  reason: string
  /** The examples that the change should help with, at least one. */
  examples: string[]
  /** The examples whose inputs or outputs contain words that the change adds, unless a person wrote those words. */
  copiedFrom: string[]
}

/** Applies changes to the prompt that they're for. The changes must be in order and must not overlap. */
export function applyChanges(prompt: string, changes: readonly TextChange[]): string {
  let [result, end] = ['', 0]
  for (const { start, before, after } of changes) {
    result += prompt.slice(end, start) + after
    end = start + before.length
  }
  return result + prompt.slice(end)
}
