/**
 * The app's document for a URL. The build (scripts/vite/app-pages.ts) writes a document for each page, so that all of
 * the page's files load in parallel. Paths alternate between names and IDs: `/traces/:traceId` is `/pages/traces/id`.
 */
export async function appPage(url: string, assets: Fetcher): Promise<Response> {
  const names = new URL(url).pathname.slice(1).split('/').filter(Boolean)
  const withIds = names.map((name, index) => (index % 2 === 1 ? 'id' : name))
  const [section = ''] = names
  // The second part of a path may also name a page, as in `/experiments/new`, or a part of a page, as in
  // `/settings/keys`.
  for (const path of new Set([names.join('/'), withIds.join('/'), section])) {
    const page = await assets.fetch(new URL(`/pages/${path}`, url))
    if (page.ok) return new Response(page.body, page)
  }
  const page = await assets.fetch(new URL('/pages/app', url))
  return new Response(page.body, page)
}
