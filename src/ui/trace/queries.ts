import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { call, Fault } from '../api/client.ts'
import { queryClient } from '../api/query-client.ts'
import type { Attributions, Feedback, Json, Observations, Prompts, Review, SpanOfTrace, Trace } from '../api/wire.ts'
import { updateLists } from '../traces/queries.ts'
import { withFeedback, withoutFeedback, withPage, withSpan } from './trace-changes.ts'

const FOLLOW_MS = 5_000
/** How soon the page shows that a reviewer renewed or released a claim. */
const FOLLOW_CLAIM_MS = 30_000
/** Larger traces don't refresh automatically. */
const FOLLOWED_SPANS = 1_000
const ATTRIBUTION_POLL_MS = 2_000
const ATTRIBUTION_TIMEOUT_MS = 5 * 60_000
const MAX_PAGE = 200

/** A trace with previews of its values and the first page of its spans; `readMore` adds more. */
export const traceQuery = (traceId: string) =>
  queryOptions({
    queryKey: ['trace', traceId, 'preview'],
    queryFn: ({ signal }) =>
      call<Trace>(`/api/traces/${encodeURIComponent(traceId)}`, { query: { payloads: 'preview' }, signal }),
    // Comparing 10,000 spans takes longer than showing them.
    structuralSharing: false,
    refetchInterval: ({ state: { data, error } }) => {
      if (!isFollowed(data) || isGone(error)) return false
      if (data.status === 'running') return FOLLOW_MS
      return data.spans.some(({ claim }) => claim !== null) && FOLLOW_CLAIM_MS
    },
    // Another reviewer may have claimed a span in the meantime.
    refetchOnWindowFocus: ({ state: { data } }) => isFollowed(data),
  })

const isFollowed = (trace: Trace | undefined): trace is Trace =>
  trace !== undefined && trace.spanCount <= FOLLOWED_SPANS

/** Loads the next page of a trace's spans or feedback. */
export async function readMore(shown: Trace, list: 'spans' | 'feedback'): Promise<void> {
  const { id, nextSpanCursor, nextFeedbackCursor } = shown
  const place = list === 'spans' ? { spanCursor: nextSpanCursor } : { feedbackCursor: nextFeedbackCursor }
  const page = await call<Trace>(`/api/traces/${encodeURIComponent(id)}`, { query: { payloads: 'preview', ...place } })
  changeTrace(id, trace => withPage(trace, page))
}

/** Whether the resource is no longer available. */
export const isGone = (error: unknown): boolean =>
  error instanceof Fault && (error.status === 404 || error.status === 403)

/** A whole trace as the API returns it. */
export const wholeTraceQuery = (traceId: string) =>
  queryOptions({
    queryKey: ['trace', traceId, 'whole'],
    queryFn: ({ signal }) => call<Json>(`/api/traces/${encodeURIComponent(traceId)}`, { signal }),
    structuralSharing: false,
    gcTime: 0,
  })

/** A whole span. The etag identifies its state. */
export const spanQuery = (spanId: string, etag: string) =>
  queryOptions({
    queryKey: ['span', spanId, etag],
    queryFn: ({ signal }) => readSpan(spanId, signal),
    structuralSharing: false,
    staleTime: 60_000,
  })

/** A span that isn't in the displayed trace. It's read only to find its own trace. */
export const missingSpanQuery = (spanId: string) =>
  queryOptions({
    queryKey: ['span', spanId, 'missing'],
    queryFn: ({ signal }) => readSpan(spanId, signal),
  })

const readSpan = (spanId: string, signal?: AbortSignal) =>
  call<SpanOfTrace>(`/api/spans/${spanId}`, signal ? { signal } : {})

/** Every decision on a span, newest first. */
export const reviewsQuery = (spanId: string) =>
  infiniteQueryOptions({
    queryKey: ['reviews', spanId],
    queryFn: ({ pageParam, signal }) =>
      call<{ reviews: Review[]; nextCursor: string | null }>(`/api/spans/${spanId}/reviews`, {
        query: { cursor: pageParam },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  })

/** A trace as the ingestion API identifies it: by the client's ID, in a project. */
export interface NamedTrace {
  traceId: string
  project: string | undefined
}

const inProject = ({ project }: NamedTrace): Record<string, string> =>
  project === undefined ? {} : { 'x-project-slug': project }

const ingestPath = ({ traceId }: NamedTrace, call: string) => `/api/v1/traces/${encodeURIComponent(traceId)}/${call}`

/** A trace's observations as they were sent. */
export const observationsQuery = (trace: NamedTrace) =>
  infiniteQueryOptions({
    queryKey: ['observations', trace.project, trace.traceId],
    queryFn: ({ pageParam, signal }) =>
      call<Observations>(ingestPath(trace, 'observations'), {
        query: { cursor: pageParam },
        headers: inProject(trace),
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next_cursor }) => next_cursor,
    structuralSharing: false,
  })

/** All attributions of a trace, oldest first. */
export const attributionsQuery = (traceId: string) =>
  queryOptions({
    queryKey: ['attributions', traceId],
    queryFn: async ({ signal }) => {
      const attributions: Attributions['attributions'] = []
      let cursor: string | null = null
      do {
        const page: Attributions = await call(`/api/traces/${encodeURIComponent(traceId)}/attributions`, {
          query: { limit: MAX_PAGE, cursor },
          signal,
        })
        attributions.push(...page.attributions)
        cursor = page.nextCursor
      } while (cursor !== null)
      return attributions
    },
  })

/**
 * Analyzes a trace and waits for the answer. Throws a `Fault` 422 if there is no feedback, and a 502 if the engine
 * failed.
 */
export async function analyze(trace: NamedTrace, isAgain: boolean): Promise<void> {
  const headers = inProject(trace)
  const end = Date.now() + ATTRIBUTION_TIMEOUT_MS
  let answer = await call<{ status?: 'pending'; waits_until?: string }>(ingestPath(trace, 'attribute'), {
    method: 'POST',
    query: { force: isAgain || undefined },
    headers,
  })
  while (answer.status === 'pending') {
    if (answer.waits_until !== undefined) {
      throw new Fault("This project has used up today's model calls. Analysis continues at 00:00 UTC.", {
        status: 429,
        code: 'model_limit_reached',
        requestId: '',
      })
    }
    if (Date.now() > end) {
      throw new Fault("This is taking longer than five minutes. The result will appear here when it's ready.", {
        status: 0,
        code: 'pending',
        requestId: '',
      })
    }
    await new Promise(resolve => setTimeout(resolve, ATTRIBUTION_POLL_MS))
    answer = await call(ingestPath(trace, 'attribution'), { headers })
  }
}

/** A step's prompt. A step has at most one. */
export const promptOfStepQuery = (project: string | undefined, stepId: string) =>
  queryOptions({
    queryKey: ['prompts', project, 'step', stepId],
    queryFn: async ({ signal }) => {
      const { prompts } = await call<Prompts>('/api/prompts', { query: { projectSlug: project, stepId }, signal })
      return prompts[0] ?? null
    },
    staleTime: 5 * 60_000,
    enabled: project !== undefined,
  })

/**
 * Decides on a span as it was shown. If the span has changed, loads the current span and then throws a `Fault` 412.
 */
export async function decide(
  span: { id: string; etag: string },
  { decision, takeOver }: { decision: 'accept' | 'reset'; takeOver: boolean },
  traceId: string,
): Promise<void> {
  try {
    const decided = await call<SpanOfTrace>(`/api/spans/${span.id}/review`, {
      method: 'PUT',
      body: { decision, takeOver },
      headers: { 'if-match': span.etag },
    })
    changeTrace(traceId, trace => withSpan(trace, decided))
    await reloadReviewedTogether(decided, traceId)
  } catch (error) {
    if (error instanceof Fault && error.status === 412) await reloadSpan(span.id, traceId)
    // The page then shows that the trace is gone.
    if (isGone(error)) void queryClient.invalidateQueries(traceQuery(traceId))
    throw error
  } finally {
    void queryClient.invalidateQueries({ queryKey: ['reviews'] })
  }
}

/** A root and a step whose output is the same text share one review. */
async function reloadReviewedTogether({ id, review }: SpanOfTrace, traceId: string): Promise<void> {
  const { spans = [] } = queryClient.getQueryData(traceQuery(traceId).queryKey) ?? {}
  const others = spans.filter(other => other.id === review.reviewedBy || other.review.reviewedBy === id)
  await Promise.all(others.map(other => reloadSpan(other.id, traceId)))
}

async function reloadSpan(spanId: string, traceId: string): Promise<void> {
  const span = await readSpan(spanId)
  changeTrace(traceId, trace => withSpan(trace, span))
}

/** Comments on a span. Retries with the same ID don't post the comment twice. */
export async function comment(traceId: string, spanId: string, content: string, id: string): Promise<void> {
  const made = await call<Feedback>(`/api/spans/${spanId}/feedback`, { method: 'POST', body: { content, id } })
  changeTrace(traceId, trace => withFeedback(trace, made))
}

export async function changeComment(traceId: string, feedbackId: string, content: string): Promise<void> {
  const changed = await call<Feedback>(`/api/feedback/${feedbackId}`, { method: 'PATCH', body: { content } })
  changeTrace(traceId, trace => withFeedback(trace, changed))
}

export async function deleteComment(traceId: string, feedbackId: string): Promise<void> {
  await call(`/api/feedback/${feedbackId}`, { method: 'DELETE' })
  changeTrace(traceId, trace => withoutFeedback(trace, feedbackId))
}

export const deleteTrace = (traceId: string): Promise<unknown> =>
  call(`/api/traces/${encodeURIComponent(traceId)}`, { method: 'DELETE' })

function changeTrace(traceId: string, change: (trace: Trace) => Trace): void {
  const { queryKey } = traceQuery(traceId)
  const trace = queryClient.setQueryData(queryKey, shown => shown && change(shown))
  if (trace) updateLists(trace)
}
