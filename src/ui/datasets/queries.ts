import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { call, pathWith } from '../api/client.ts'
import { queryClient } from '../api/query-client.ts'
import type { Dataset, DatasetItem, DatasetItems, DatasetList } from '../api/wire.ts'

const DATASETS_PER_PAGE = 100
const ITEMS_PER_PAGE = 50

/** A project's datasets. */
export const datasetsQuery = (projectSlug: string | undefined) =>
  infiniteQueryOptions({
    queryKey: ['datasets', projectSlug],
    queryFn: ({ pageParam, signal }) =>
      call<DatasetList>('/api/datasets', {
        query: { projectSlug, limit: DATASETS_PER_PAGE, cursor: pageParam },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    enabled: projectSlug !== undefined,
  })

export const datasetQuery = (id: string) =>
  queryOptions({
    queryKey: ['dataset', id, 'head'],
    queryFn: ({ signal }) => call<Dataset>(`/api/datasets/${encodeURIComponent(id)}`, { signal }),
  })

/** A dataset's items with previews of their values. `filters` as `queryOf` writes them. */
export const itemsQuery = (id: string, filters: string) =>
  infiniteQueryOptions({
    queryKey: ['dataset', id, 'items', filters],
    queryFn: ({ pageParam, signal }) => {
      const page = { limit: ITEMS_PER_PAGE, payloads: 'preview', cursor: pageParam }
      const path = pathWith(`/api/datasets/${encodeURIComponent(id)}/items`, page)
      return call<DatasetItems>(filters === '' ? path : `${path}&${filters}`, { signal })
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: keepPreviousData,
  })

/** A whole item, as of a version; null is the current one. */
export const itemQuery = (id: string, itemId: string, version: string | null) =>
  queryOptions({
    queryKey: ['dataset', id, 'item', itemId, version],
    queryFn: ({ signal }) =>
      call<DatasetItem>(`/api/datasets/${encodeURIComponent(id)}/items/${encodeURIComponent(itemId)}`, {
        query: { version },
        signal,
      }),
  })

/** Refetches a dataset wherever it's shown. */
export const refreshDataset = (id: string) =>
  Promise.all([
    queryClient.invalidateQueries({ queryKey: ['dataset', id] }),
    queryClient.invalidateQueries({ queryKey: ['datasets'] }),
  ])
