/** What somebody has typed and not yet sent, as this browser keeps it. */
export interface TextDraft {
  name: string
  title: string
  content: string
  /** As it is typed, valid or not. */
  schema: string
  note: string
  activate: boolean
  /** The version that it was begun from; '' for a new text. */
  baseId: string
}

const placeOf = (key: string): string => `countersign.draft.${key}`

/** The draft kept under a key, or undefined. What is not one of ours is as good as none. */
export function storedDraft(key: string): TextDraft | undefined {
  try {
    const draft: unknown = JSON.parse(localStorage.getItem(placeOf(key)) ?? 'null')
    return isDraft(draft) ? draft : undefined
  } catch {
    return undefined
  }
}

/** Keeps a draft, or with null forgets it. False where the browser refuses: no room, or no storage at all. */
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
  value instanceof Object &&
  TEXTS.every(name => name in value && typeof value[name as keyof typeof value] === 'string') &&
  'activate' in value &&
  typeof value.activate === 'boolean'

/** Nothing typed yet. */
export const EMPTY_DRAFT: TextDraft = {
  name: '',
  title: '',
  content: '',
  schema: '{}',
  note: '',
  activate: false,
  baseId: '',
}
