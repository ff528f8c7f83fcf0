import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { call, pathWith } from '../api/client.ts'
import type { Comparison, ExperimentItems, ExperimentReport, Experiments, JudgedOutputs } from '../api/wire.ts'
import type { ItemFilter } from './filters.ts'

const PAGE_SIZE = 50
const ITEM_PAGE_SIZE = 20
const MAX_PAGE = 200
const FOLLOW_MS = 3_000
const FOLLOW_LIST_MS = 10_000

/** A project's experiments, newest first. */
export const experimentsQuery = (project: string | undefined, filters: readonly [name: string, value: string][]) =>
  infiniteQueryOptions({
    queryKey: ['experiments', project, filters],
    queryFn: ({ pageParam, signal }) =>
      call<Experiments>('/api/experiments', {
        query: { projectSlug: project, limit: PAGE_SIZE, cursor: pageParam, ...Object.fromEntries(filters) },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: keepPreviousData,
    enabled: project !== undefined,
    refetchInterval: ({ state: { data } }) =>
      data?.pages.some(({ experiments }) => experiments.some(isRunning)) ? FOLLOW_LIST_MS : false,
  })

const isRunning = ({ state }: { state: ExperimentReport['state'] }): boolean => state === 'running'

/** An experiment's report, refetched while the experiment runs or a model is being asked. */
export const reportQuery = (id: string) =>
  queryOptions({
    queryKey: ['experiment', id, 'report'],
    queryFn: ({ signal }) => call<ExperimentReport>(pathOf(id), { signal }),
    refetchInterval: ({ state: { data } }) => (data && (isRunning(data) || isAsking(data)) ? FOLLOW_MS : false),
  })

/** Whether a model is being asked. A waiting job doesn't count, because it may wait until the next day. */
const isAsking = ({ judging: { job } }: ExperimentReport): boolean =>
  job?.status === 'pending' && job.waitsUntil === null

/** The outputs of a step that both a model and a person judged, starting with the newest experiment. */
export const judgmentsQuery = (
  project: string | undefined,
  stepId: string,
  filters: readonly [name: string, value: string][] = [],
) =>
  infiniteQueryOptions({
    queryKey: ['judgments', project, stepId, filters],
    queryFn: ({ pageParam, signal }) =>
      call<JudgedOutputs>('/api/judgments', {
        query: { projectSlug: project, stepId, limit: PAGE_SIZE, cursor: pageParam, ...Object.fromEntries(filters) },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: keepPreviousData,
    enabled: project !== undefined && stepId !== '',
  })

interface ItemPlace {
  list: number
  cursor: string | null
}

/** The pages of an experiment's items in these lists, one list after another, with values in full. */
export const itemsQuery = (id: string, lists: readonly ItemFilter[]) =>
  infiniteQueryOptions({
    queryKey: ['experiment', id, 'items', lists],
    queryFn: async ({ pageParam, signal }) => {
      let place: ItemPlace | undefined = pageParam
      let items: ExperimentItems['items'] = []
      while (place && items.length === 0) {
        const query = { ...lists[place.list], limit: ITEM_PAGE_SIZE, cursor: place.cursor }
        const page: ExperimentItems = await call<ExperimentItems>(`${pathOf(id)}/items`, { query, signal })
        items = page.items
        place = nextPlace(place, page.nextCursor, lists.length)
      }
      return { items, next: place }
    },
    initialPageParam: { list: 0, cursor: null } as ItemPlace,
    getNextPageParam: ({ next }) => next,
    // Items must not move while somebody decides on them.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })

function nextPlace({ list }: ItemPlace, cursor: string | null, lists: number): ItemPlace | undefined {
  if (cursor !== null) return { list, cursor }
  return list + 1 < lists ? { list: list + 1, cursor: null } : undefined
}

/** The experiments on a dataset, which can be compared with each other. */
export const ofDatasetQuery = (projectId: string, datasetId: string) =>
  queryOptions({
    queryKey: ['experiments', projectId, 'of', datasetId],
    queryFn: ({ signal }) =>
      call<Experiments>('/api/experiments', { query: { projectId, datasetId, limit: MAX_PAGE }, signal }),
  })

/** How two experiments differ. */
export const comparisonQuery = (a: string, b: string) =>
  infiniteQueryOptions({
    queryKey: ['comparison', a, b],
    queryFn: ({ pageParam, signal }) =>
      call<Comparison>(pathWith(`${pathOf(a)}/compare/${encodeURIComponent(b)}`, { cursor: pageParam }), { signal }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  })

/** Whether a dataset has items in a split. */
export const hasSplitQuery = (datasetId: string | undefined, split: string) =>
  queryOptions({
    queryKey: ['dataset', datasetId, 'split', split],
    queryFn: async ({ signal }) => {
      const query = { split, limit: 1, payloads: 'preview' }
      const { items } = await call<{ items: unknown[] }>(`/api/datasets/${datasetId}/items`, { query, signal })
      return items.length > 0
    },
    enabled: datasetId !== undefined,
  })

export const pathOf = (id: string): string => `/api/experiments/${encodeURIComponent(id)}`
