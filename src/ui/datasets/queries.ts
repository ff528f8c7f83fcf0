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

/** A step's dataset. Null if the step has none. */
export const datasetOfStepQuery = (projectSlug: string | undefined, stepId: string) =>
  queryOptions({
    queryKey: ['datasets', projectSlug, 'of', stepId],
    queryFn: async ({ signal }) => {
      let cursor: string | null = null
      do {
        const query = { projectSlug, limit: DATASETS_PER_PAGE, cursor }
        const page: DatasetList = await call<DatasetList>('/api/datasets', { query, signal })
        const found = page.datasets.find(dataset => dataset.stepId === stepId)
        if (found) return found
        cursor = page.nextCursor
      } while (cursor !== null)
      return null
    },
    enabled: projectSlug !== undefined,
  })

export const datasetQuery = (id: string) =>
  queryOptions({
    queryKey: ['dataset', id, 'head'],
    queryFn: ({ signal }) => call<Dataset>(`/api/datasets/${encodeURIComponent(id)}`, { signal }),
  })

/** A dataset's items with previews of their values. `filters` come from `queryOf`. */
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

/** The newest items that a candidate can be tried on: first the corrected ones in a split, and then the rest. */
export const triableItemsQuery = (id: string | undefined, split: string) =>
  queryOptions({
    queryKey: ['dataset', id, 'triable', split],
    queryFn: async ({ signal }) => {
      const lists = [{ split, decision: 'correct' }, {}].map(filters =>
        call<DatasetItems>(`/api/datasets/${encodeURIComponent(id ?? '')}/items`, {
          query: { ...filters, excluded: 'false', limit: ITEMS_PER_PAGE, payloads: 'preview' },
          signal,
        }),
      )
      const found = (await Promise.all(lists)).flatMap(({ items }) => items).filter(({ stale }) => !stale)
      return [...new Map(found.map(item => [item.id, item])).values()]
    },
    enabled: id !== undefined,
  })

/** A whole item as of a version. Null means the current version. */
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
