import { NEAR_TEXTS_BYTES, NEAR_TEXTS_MS, NEAR_TEXTS_SHARE_BYTES } from '../../limits.ts'
import type { Project } from '../accounts/projects.ts'
import type { Organization, Store } from '../core/store.ts'
import { TenantCache } from '../core/tenant-cache.ts'
import { type ActiveText, listTexts } from './versioned-texts.ts'

type Page = Awaited<ReturnType<typeof listTexts>>

/*
 * The active prompts and docs that pipelines read before every run, kept in the isolate's memory. This is safe, because
 * a request's key and project are checked before it gets here.
 */

const pages = new TenantCache<{ page: Page; readAt: number }>({
  maxBytes: NEAR_TEXTS_BYTES,
  maxShareBytes: NEAR_TEXTS_SHARE_BYTES,
})

/** How many changes this isolate has made. If the number changes during a read, the result isn't kept. */
let changes = 0

/** `listTexts`, from memory if it was read in the last 10 seconds. */
export async function listNearTexts(
  store: Store,
  project: Pick<Project, 'key'>,
  query: Parameters<typeof listTexts>[2],
): Promise<Page> {
  const { organization } = store
  const key = JSON.stringify([project.key, query.kind, query.name, query.limit, query.after])
  // Read the time before the query, because the texts may change while the query's result is on its way.
  const readAt = Date.now()
  const known = pages.get(organization.id, key)
  if (known && readAt - known.readAt < NEAR_TEXTS_MS) return known.page
  const changesBefore = changes
  const page = await listTexts(store, project, query)
  if (changes === changesBefore) pages.set(organization.id, key, { page, readAt }, bytesOf(key, page))
  return page
}

/** Changes an organization's texts. Afterward, this isolate reads them again, even if the outcome is unknown. */
export async function changingTexts<Result>(
  { organization }: { organization: Organization },
  change: () => Promise<Result>,
): Promise<Result> {
  try {
    return await change()
  } finally {
    changes++
    pages.delete(organization.id)
  }
}

/** What an entry takes up in memory, rounded up: strings take one or two bytes per character. */
const bytesOf = (key: string, { items }: Page): number =>
  ENTRY_BYTES + 2 * key.length + items.reduce((sum, item) => sum + ITEM_BYTES + 2 * lengthOf(item), 0)

const lengthOf = ({ content, title, name, outputSchema }: ActiveText): number =>
  content.length + title.length + name.length + (outputSchema?.text.length ?? 0)

/** What a page and an item take up besides their strings: objects, ids, and times. */
const ENTRY_BYTES = 500
const ITEM_BYTES = 1000
