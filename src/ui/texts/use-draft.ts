import { useState } from 'react'
import { storeDraft, storedDraft, type TextDraft } from './draft.ts'

/** A form's draft, stored from the first change until it is sent or discarded. */
export function useDraft(key: string, initial: TextDraft) {
  const [draft, setDraft] = useState(() => storedDraft(key) ?? initial)
  const [isChanged, setChanged] = useState(() => storedDraft(key) !== undefined)
  const [isKept, setKept] = useState(true)
  const change = (part: Partial<TextDraft>) => {
    const next = { ...draft, ...part }
    setDraft(next)
    setChanged(true)
    setKept(storeDraft(key, next))
  }
  const discard = () => {
    storeDraft(key, null)
    setDraft(initial)
    setChanged(false)
  }
  return { draft, change, discard, isChanged, isKept }
}
