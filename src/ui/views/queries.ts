import { queryOptions } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import type { SavedView, ViewList } from '../api/wire.ts'

export type ViewPage = SavedView['page']

/** The most views that one call lists. A project has at most 300 views for a user. */
const PAGE_SIZE = 200

/** A page's views: the user's own and the shared ones. */
export const viewsQuery = (project: string | undefined, page: ViewPage) =>
  queryOptions({
    queryKey: ['views', project, page],
    queryFn: async ({ signal }) => {
      const views: SavedView[] = []
      let cursor: string | null = null
      do {
        const query = { projectSlug: project, page, limit: PAGE_SIZE, cursor }
        const list: ViewList = await call<ViewList>('/api/views', { query, signal })
        views.push(...list.views)
        cursor = list.nextCursor
      } while (cursor !== null)
      return views.toSorted((left, right) => left.name.localeCompare(right.name))
    },
    enabled: project !== undefined,
  })

export const saveView = (view: Pick<SavedView, 'name' | 'page' | 'query' | 'shared'> & { projectSlug: string }) =>
  call<SavedView>('/api/views', { method: 'POST', body: view })

export const deleteView = ({ id }: SavedView) => call<{ id: string }>(`/api/views/${id}`, { method: 'DELETE' })
