import type { Suggestion } from '../api/wire.ts'
import { textOf } from './json-text.ts'
import { createStore } from './store.ts'

/** A reviewer's unsaved work on a span. */
export interface Draft {
  /** The span's etag when the draft was started. */
  etag: string
  /** The edited value as JSON text, which may be invalid. Null if it hasn't been edited. */
  text: string | null
  /** The reason, sent with the decision. */
  note: string
  errorType: string | null
  /** Whether the reviewer found the output wrong. Missing from drafts stored by earlier releases. */
  isWrong?: boolean
  /** An unposted comment. */
  comment: string
  /** The comment's ID, so that a retry can't post it twice. */
  commentId: string
  isEditing: boolean
  /** When the draft was last written, in milliseconds since 1970. */
  at: number
}

/** An empty draft for a span with this etag. */
export const newDraft = (etag: string): Draft => ({
  etag,
  text: null,
  note: '',
  errorType: null,
  comment: '',
  commentId: crypto.randomUUID(),
  isEditing: false,
  at: Date.now(),
})

/** Fills a draft with the decision that an agent suggests. Keeps a reason that the reviewer has written. */
export function suggestedDraft(
  { decision, approvedOutput, comment, errorType }: Suggestion,
  draft: Draft | undefined,
): Pick<Draft, 'text' | 'note' | 'errorType' | 'isEditing'> {
  const isCorrection = decision === 'correct'
  const note = draft?.note || (comment ?? '')
  return { text: isCorrection ? textOf(approvedOutput) : null, note, errorType, isEditing: isCorrection }
}

export interface Drafts {
  get: (spanId: string) => Draft | undefined
  put: (spanId: string, draft: Draft) => void
  remove: (spanId: string) => void
  subscribe: (listener: () => void) => () => void
  /** Stores pending changes now rather than after a pause in typing. */
  flush: () => void
  /** Whether the last stored draft survives a reload. */
  isKept: () => boolean
}

const PREFIX = 'countersign.draft:'
const MAX_AGE_MS = 14 * 86_400_000
/** Drafts may be large, so they aren't stored on every keystroke. */
const WRITE_DELAY_MS = 300

/** Whether a draft has no content. An open editor alone doesn't count as content. */
const isEmptyDraft = ({ text, note, errorType, isWrong, comment }: Draft): boolean =>
  text === null && note === '' && errorType === null && isWrong !== true && comment === ''

/**
 * One reviewer's drafts, stored in this browser for 14 days. If storage isn't available, they last as long as the page.
 */
export function createDrafts(storage: Storage | undefined, actorId: string): Drafts {
  const prefix = `${PREFIX}${actorId}:`
  const drafts = createStore<ReadonlyMap<string, Draft>>(new Map(storage && keptDrafts(storage, prefix)))
  const unwritten = new Set<string>()
  let timer: ReturnType<typeof setTimeout> | undefined
  let isKept = storage !== undefined

  const flush = (): void => {
    clearTimeout(timer)
    for (const spanId of unwritten) {
      const draft = drafts.get().get(spanId)
      isKept = write(storage, prefix + spanId, draft)
    }
    unwritten.clear()
  }
  const changed = (spanId: string, change: (copy: Map<string, Draft>) => void): void => {
    drafts.change(all => {
      const copy = new Map(all)
      change(copy)
      return copy
    })
    unwritten.add(spanId)
    clearTimeout(timer)
    timer = setTimeout(flush, WRITE_DELAY_MS)
  }

  return {
    get: spanId => drafts.get().get(spanId),
    put: (spanId, draft) => changed(spanId, copy => copy.set(spanId, draft)),
    remove: spanId => {
      changed(spanId, copy => copy.delete(spanId))
      flush()
    },
    subscribe: drafts.subscribe,
    flush,
    isKept: () => isKept,
  }
}

function write(storage: Storage | undefined, key: string, draft: Draft | undefined): boolean {
  if (!storage) return false
  try {
    if (!draft || isEmptyDraft(draft)) storage.removeItem(key)
    else storage.setItem(key, JSON.stringify(draft))
    return true
  } catch {
    // Storage is full or forbidden.
    return false
  }
}

/** Returns the stored drafts, and removes those that are too old. */
function keptDrafts(storage: Storage, prefix: string): [spanId: string, Draft][] {
  const keys = Array.from({ length: storage.length }, (_, index) => storage.key(index) ?? '')
  return keys
    .filter(key => key.startsWith(PREFIX))
    .flatMap(key => {
      const draft = draftFrom(storage.getItem(key))
      if (draft && draft.at > Date.now() - MAX_AGE_MS) return key.startsWith(prefix) ? [[key, draft] as const] : []
      storage.removeItem(key)
      return []
    })
    .map(([key, draft]) => [key.slice(prefix.length), draft])
}

function draftFrom(kept: string | null): Draft | undefined {
  try {
    const value: unknown = JSON.parse(kept ?? '')
    return isDraft(value) ? value : undefined
  } catch {
    return undefined
  }
}

const isDraft = (value: unknown): value is Draft => {
  if (typeof value !== 'object' || value === null) return false
  const { etag, text, note, errorType, comment, commentId, isEditing, at } = value as Partial<Record<string, unknown>>
  const texts = [etag, note, comment, commentId]
  return (
    texts.every(field => typeof field === 'string') &&
    [text, errorType].every(field => field === null || typeof field === 'string') &&
    typeof isEditing === 'boolean' &&
    typeof at === 'number'
  )
}
