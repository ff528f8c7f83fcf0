/** An unsent draft as this browser stores it. */
export interface TextDraft {
  name: string
  title: string
  content: string
  /** JSON text, valid or not. */
  schema: string
  note: string
  /** The version that the draft started from; '' for a new text. */
  baseId: string
}

const placeOf = (key: string): string => `countersign.draft.${key}`

/** The draft stored under a key. Undefined if there's none, or if it's invalid. */
export function storedDraft(key: string): TextDraft | undefined {
  try {
    const draft: unknown = JSON.parse(localStorage.getItem(placeOf(key)) ?? 'null')
    return isDraft(draft) ? draft : undefined
  } catch {
    return undefined
  }
}

/** Stores a draft, or removes the stored draft if `draft` is null. False if the browser refuses. */
export function storeDraft(key: string, draft: TextDraft | null): boolean {
  try {
    if (draft === null) localStorage.removeItem(placeOf(key))
    else localStorage.setItem(placeOf(key), JSON.stringify(draft))
    return true
  } catch {
    return false
  }
}

const TEXTS = ['name', 'title', 'content', 'schema', 'note', 'baseId'] as const

const isDraft = (value: unknown): value is TextDraft =>
  value instanceof Object && TEXTS.every(name => name in value && typeof value[name as keyof typeof value] === 'string')

/** An empty draft. */
export const EMPTY_DRAFT: TextDraft = {
  name: '',
  title: '',
  content: '',
  schema: '{}',
  note: '',
  baseId: '',
}
