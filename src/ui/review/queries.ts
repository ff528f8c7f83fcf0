import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { queryClient } from '../api/query-client.ts'
import type { Guideline, Prompt, Prompts, ReviewQueue, SpanOfTrace, Trace } from '../api/wire.ts'
import { sourcesQuery } from '../sources/queries.ts'
import { orderOf, type QueueFilter, type QueueKind } from './filters.ts'

/** Pages contain previews, which show where a value is truncated. The current item is loaded in full. */
const PAGE = 25
const MAX_PAGE = 200

/**
 * The queue at the time of the request. It never refetches on its own, because items would move while the reviewer
 * works.
 */
export const queueQuery = (projectSlug: string | undefined, kind: QueueKind, filter: QueueFilter) =>
  infiniteQueryOptions({
    queryKey: ['review-queue', projectSlug, kind, filter],
    queryFn: ({ pageParam: cursor, signal }) =>
      call<ReviewQueue>('/api/review-queue', {
        query: {
          projectSlug,
          ...filter,
          order: orderOf(kind, filter),
          all: (kind === 'review' && filter.all) || undefined,
          disputed: kind === 'disputes' || undefined,
          payloads: 'preview',
          limit: PAGE,
          cursor,
        },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    enabled: projectSlug !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })

/**
 * A whole span as the reviewer first saw it, so that it never changes unnoticed. If the span has changed since then,
 * its etag is outdated, so the service rejects the decision and the page loads the span again.
 */
export const spanQuery = (spanId: string) =>
  queryOptions({
    queryKey: ['review', 'span', spanId],
    queryFn: ({ signal }) => call<SpanOfTrace>(`/api/spans/${spanId}`, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 10 * 60_000,
  })

/** A preview in which nothing was truncated is the whole span, so no request is needed. */
export const wholeIn = (preview: SpanOfTrace | undefined) =>
  preview !== undefined && preview.truncated.length === 0 ? { initialData: preview } : {}

/** Sets the guideline of a span's step. */
export async function saveGuideline(projectId: string, { id, stepId }: SpanOfTrace, text: string): Promise<void> {
  const path = `/api/projects/${projectId}/guidelines/${encodeURIComponent(stepId)}`
  const guideline = await call<Guideline>(path, { method: 'PUT', body: { text } })
  queryClient.setQueryData(sourcesQuery(id).queryKey, shown => shown && { ...shown, guideline })
  // The step's other items also show it.
  void queryClient.invalidateQueries({ queryKey: ['sources'], refetchType: 'none' })
}

/** A span's trace with its feedback, but with only its root span. */
export const traceQuery = (traceId: string) =>
  queryOptions({
    queryKey: ['review', 'trace', traceId],
    queryFn: ({ signal }) =>
      call<Trace>(`/api/traces/${traceId}`, { query: { payloads: 'preview', spanLimit: 1 }, signal }),
    staleTime: 60_000,
  })

/** Reloads a trace's feedback. Cancels pending requests, because their responses may lack what was just posted. */
export async function reloadTrace(traceId: string): Promise<void> {
  const { queryKey } = traceQuery(traceId)
  await queryClient.cancelQueries({ queryKey })
  await queryClient.invalidateQueries({ queryKey })
}

export const promptsQuery = (projectSlug: string | undefined) =>
  queryOptions({
    queryKey: ['review', 'prompts', projectSlug],
    queryFn: ({ signal }) => call<Prompts>('/api/prompts', { query: { projectSlug, limit: MAX_PAGE }, signal }),
    enabled: projectSlug !== undefined,
    staleTime: 60_000,
  })

export const promptQuery = (promptId: string) =>
  queryOptions({
    queryKey: ['review', 'prompt', promptId],
    queryFn: ({ signal }) => call<Prompt>(`/api/prompts/${promptId}`, { signal }),
    staleTime: 60_000,
  })
