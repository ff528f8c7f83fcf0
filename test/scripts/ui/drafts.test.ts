import { describe, it, vi } from 'vitest'
import { createDrafts, type Draft } from '../../../src/ui/review/drafts.ts'

const DAY_MS = 86_400_000

const aDraft = (fields: Partial<Draft> = {}): Draft => ({
  etag: '"1"',
  text: '{"answer": "24 months"}',
  note: '',
  errorType: null,
  comment: '',
  commentId: 'c1',
  isEditing: true,
  at: Date.now(),
  ...fields,
})

/** A browser's storage, which is full if `fails` is true. */
function storage(fails = false): Storage {
  const kept = new Map<string, string>()
  return {
    get length() {
      return kept.size
    },
    key: index => [...kept.keys()][index] ?? null,
    getItem: key => kept.get(key) ?? null,
    setItem: (key, value) => {
      if (fails) throw new Error('QuotaExceededError')
      kept.set(key, value)
    },
    removeItem: key => kept.delete(key),
    clear: () => kept.clear(),
  }
}

describe('drafts', () => {
  it('survive a reload, but only for their reviewer', ({ expect }) => {
    const browser = storage()
    const drafts = createDrafts(browser, 'ada')
    drafts.put('span', aDraft({ comment: 'why' }))
    drafts.flush()
    expect(createDrafts(browser, 'ada').get('span')).toEqual(drafts.get('span'))
    expect(createDrafts(browser, 'kofi').get('span')).toBeUndefined()
  })

  it('disappear once they are removed', ({ expect }) => {
    const browser = storage()
    const drafts = createDrafts(browser, 'ada')
    drafts.put('span', aDraft())
    drafts.remove('span')
    expect(drafts.get('span')).toBeUndefined()
    expect(browser.length).toBe(0)
  })

  it('are not kept if an editor was opened but nothing was written', ({ expect }) => {
    const browser = storage()
    const drafts = createDrafts(browser, 'ada')
    drafts.put('span', aDraft({ text: null }))
    drafts.flush()
    expect(browser.length).toBe(0)
  })

  it('are written a moment after the last keystroke', ({ expect }) => {
    vi.useFakeTimers()
    const browser = storage()
    const drafts = createDrafts(browser, 'ada')
    drafts.put('span', aDraft({ note: 'a' }))
    drafts.put('span', aDraft({ note: 'ab' }))
    expect(browser.length).toBe(0)
    vi.runAllTimers()
    expect(createDrafts(browser, 'ada').get('span')?.note).toBe('ab')
    vi.useRealTimers()
  })

  it('are deleted after 14 days, even if someone else wrote them', ({ expect }) => {
    const browser = storage()
    const old = createDrafts(browser, 'ada')
    old.put('old', aDraft({ at: Date.now() - 15 * DAY_MS }))
    old.put('young', aDraft({ at: Date.now() - 13 * DAY_MS }))
    old.flush()
    createDrafts(browser, 'kofi')
    expect(browser.length).toBe(1)
    expect(createDrafts(browser, 'ada').get('young')).toBeDefined()
  })

  it.for(['', '{', '[]', '{"etag": 1}', 'null'])('are discarded if they cannot be read: %s', (kept, { expect }) => {
    const browser = storage()
    browser.setItem('countersign.draft:ada:span', kept)
    expect(createDrafts(browser, 'ada').get('span')).toBeUndefined()
    expect(browser.length).toBe(0)
  })

  it.for([undefined, storage(true)])(
    'last as long as the page if the browser can’t store them',
    (browser, { expect }) => {
      const drafts = createDrafts(browser, 'ada')
      drafts.put('span', aDraft())
      drafts.flush()
      expect(drafts.get('span')).toBeDefined()
      expect(drafts.isKept()).toBe(false)
    },
  )
})
