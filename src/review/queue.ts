import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { CURSOR, PROJECT_ID, ROOT_SPAN_ID, SPAN_ID, USER_ID } from '../api/story.ts'
import type { Caller } from '../auth/authenticate.ts'
import { described, Uuid } from '../http/atoms.ts'
import { NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { badRequest, forbidden } from '../http/errors.ts'
import { MAX_CLAIMS, MAX_REMAINING } from '../limits.ts'
import { assigneeFor, assigneeParameter } from '../read/assignee.ts'
import { reviewedSpan, span } from '../read/examples.ts'
import { projectSelector, selectedProject } from '../read/project.ts'
import { TrueOrFalse, traceFilter, traceFilters } from '../read/trace-filters.ts'
import { Payloads, SpanOfTrace, toSpanOfTrace } from '../read/wire.ts'
import { actorOf } from '../store/accounts/audit.ts'
import { changeEach } from '../store/core/across.ts'
import type { Store } from '../store/core/store.ts'
import { claimSpans, releaseClaims, renewClaims } from '../store/reviews/claims.ts'
import { readDisputed } from '../store/reviews/disputed.ts'
import { readQueue } from '../store/reviews/queue.ts'
import { QUEUE_ORDERS } from '../store/reviews/queue-order.ts'
import { groupBySpan } from '../store/traces/placed.ts'
import { fromQueuePlace, QUEUE_PLACE, toQueuePlace } from './queue-cursor.ts'

const Order = v.optional(
  v.pipe(
    v.picklist(QUEUE_ORDERS),
    v.metadata({
      description:
        "The order of traces. A trace's spans stay together. negative: traces with negative feedback first. due: by the earliest due date of the assignee's spans. mine: spans assigned to you, by due date, and then unassigned ones.",
    }),
  ),
  'oldest',
)

export const getReviewQueue = endpoint({
  family: 'review',
  method: 'GET',
  path: '/api/review-queue',
  summary: "List a project's spans that need review",
  description:
    "Includes spans with an output that is unreviewed, or whose review is stale. Leaves out spans that others have claimed. If several people review a span, the list leaves it out once you or enough others have voted. Spans that the project's review policy doesn't select are left out unless you ask for them.",
  scope: 'review',
  reads: 'primary',
  query: v.strictObject({
    ...projectSelector,
    ...traceFilters,
    assignee: assigneeParameter,
    order: Order,
    all: v.optional(
      described(TrueOrFalse, "Whether to include spans that the project's review policy leaves out"),
      'false',
    ),
    disputed: v.optional(
      described(
        TrueOrFalse,
        'Whether to list the spans on which reviewers disagree instead, sorted by the time of the last vote. These are listed whether or not the policy selects them. Only for adjudicators.',
      ),
      'false',
    ),
    payloads: Payloads,
    ...pageParameters,
  }),
  metadataPrefix: 'metadata.',
  errors: { 404: 'Not found' },
  responses: {
    200: v.object({
      spans: v.array(SpanOfTrace),
      remaining: v.pipe(
        v.number(),
        v.metadata({
          description: `How many spans are in the queue, including this page, counted up to ${MAX_REMAINING}`,
        }),
      ),
      remainingIsMinimum: v.pipe(
        v.boolean(),
        v.metadata({ description: 'Whether the queue may have more than `remaining` spans' }),
      ),
      assigned: described(v.optional(v.number()), 'If `order` is `mine`: how many of `remaining` are assigned to you'),
      nextCursor: NextCursor,
      today: v.pipe(
        v.array(v.object({ userId: Uuid, reviewed: v.number() })),
        v.metadata({
          description:
            "How many spans each reviewer has accepted or corrected since midnight UTC. Decisions are counted the same way as in Insights. If several people review a span, each of their votes counts, but the resulting decision doesn't.",
        }),
      ),
    }),
  },
  example: {
    query: { projectId: PROJECT_ID },
    answers: {
      200: {
        spans: [{ ...span, trace: reviewedSpan.trace }],
        remaining: 41,
        remainingIsMinimum: false,
        nextCursor: CURSOR,
        today: [{ userId: USER_ID, reviewed: 12 }],
      },
    },
  },
}).handle(async context => {
  const { query, caller, store, now } = context
  if (query.disputed && !caller.isAdjudicator) throw forbidden('Only adjudicators can list disputed spans')
  const project = await selectedProject(context, query)
  const assignee = assigneeFor(caller, query.assignee)
  if (query.order === 'due' && !assignee) throw badRequest('requires an `assignee`', 'order')
  if (query.order === 'mine' && assignee !== undefined)
    throw badRequest("can't be combined with an `assignee`", 'order')
  const filter = await traceFilter(context)
  if (query.disputed) {
    const { order, all, payloads: mode } = query
    if (all) throw badRequest("can't be combined with `disputed`", 'all')
    if (order !== 'oldest' && order !== 'newest')
      throw badRequest('must be `oldest` or `newest` if `disputed` is true', 'order')
    const disputed = { filter, order, assignee, holder: actorOf(caller), now }
    const { items, nextCursor, ...counts } = await pageOf({
      list: ['disputed', store.organization.id, project.id, order],
      query,
      place: ['number', 'number', 'string'],
      read: async (limit, after) => {
        const place = after && { disputedAt: after[0], traceKey: after[1], spanId: after[2] }
        const page = await readDisputed(store, project, disputed, { limit, after: place, mode })
        const { spans: items, nextPlace: next, ...counts } = page
        return { items, nextPlace: next && ([next.disputedAt, next.traceKey, next.spanId] as const), ...counts }
      },
    })
    return { status: 200, body: { spans: items.map(toSpanOfTrace), nextCursor, ...counts } }
  }
  const selection = {
    filter: { ...filter, assigneeId: assignee ?? undefined },
    order: query.order,
    all: query.all,
    assignee,
    holder: actorOf(caller),
    now,
  }
  const { items, remaining, remainingIsMinimum, mine, today, nextCursor } = await pageOf({
    list: ['review-queue', store.organization.id, project.id, query.order],
    query,
    place: QUEUE_PLACE,
    read: async (limit, after) => {
      const place = after && toQueuePlace(after)
      const page = await readQueue(store, project, selection, { limit, after: place, mode: query.payloads })
      return { ...page, items: page.spans, nextPlace: page.nextPlace && fromQueuePlace(page.nextPlace) }
    },
  })
  return {
    status: 200,
    body: { spans: items.map(toSpanOfTrace), remaining, remainingIsMinimum, assigned: mine, nextCursor, today },
  }
})

const SpanIds = v.strictObject({
  spanIds: v.pipe(v.array(Uuid), v.maxLength(MAX_CLAIMS, `must have at most ${MAX_CLAIMS} IDs`)),
})

export const claimForReview = endpoint({
  family: 'review',
  method: 'POST',
  path: '/api/review-queue/claim',
  summary: 'Claim spans',
  description:
    "Claims last for 15 minutes or until the spans are reviewed. Spans that others have claimed, or that don't need review, are rejected.",
  scope: 'review',
  body: SpanIds,
  responses: { 200: v.object({ claimed: v.array(Uuid), refused: v.array(Uuid) }) },
  example: {
    body: { spanIds: [SPAN_ID, ROOT_SPAN_ID] },
    answers: { 200: { claimed: [SPAN_ID], refused: [ROOT_SPAN_ID] } },
  },
}).handle(async ({ body: { spanIds }, caller, store, now }) => {
  const claimed = await forEachDatabase(store, spanIds, (shard, own) =>
    claimSpans(shard, { ...claimantOf(caller), spanIds: own, now }),
  )
  return { status: 200, body: { claimed, refused: without(spanIds, claimed) } }
})

export const renewReviewClaims = endpoint({
  family: 'review',
  method: 'POST',
  path: '/api/review-queue/heartbeat',
  summary: 'Renew claims',
  description: "Extends claims by another 15 minutes. Expired claims can't be renewed.",
  scope: 'review',
  body: SpanIds,
  responses: { 200: v.object({ held: v.array(Uuid), lost: v.array(Uuid) }) },
  example: {
    body: { spanIds: [SPAN_ID] },
    answers: { 200: { held: [SPAN_ID], lost: [] } },
  },
}).handle(async ({ body: { spanIds }, caller, store, now }) => {
  const held = await forEachDatabase(store, spanIds, (shard, own) =>
    renewClaims(shard, { ...claimantOf(caller), spanIds: own, now }),
  )
  return { status: 200, body: { held, lost: without(spanIds, held) } }
})

export const releaseFromReview = endpoint({
  family: 'review',
  method: 'POST',
  path: '/api/review-queue/release',
  summary: 'Release claims',
  description: 'Returns the spans to the queue.',
  scope: 'review',
  body: SpanIds,
  responses: { 200: v.object({ released: v.array(Uuid) }) },
  example: {
    body: { spanIds: [SPAN_ID] },
    answers: { 200: { released: [SPAN_ID] } },
  },
}).handle(async ({ body: { spanIds }, caller, store, now }) => {
  const released = await forEachDatabase(store, spanIds, (shard, own) =>
    releaseClaims(shard, { ...claimantOf(caller), spanIds: own, now }),
  )
  return { status: 200, body: { released } }
})

/**
 * Changes claims in each span's database. Returns the ids of the spans whose claims changed, in the order of the
 * request.
 */
async function forEachDatabase(
  store: Store,
  spanIds: readonly string[],
  change: (shard: Store, spanIds: readonly string[]) => Promise<string[]>,
): Promise<string[]> {
  const changed = new Set((await changeEach(await groupBySpan(store, spanIds, id => id), change)).flat())
  return [...new Set(spanIds)].filter(id => changed.has(id))
}

const claimantOf = (caller: Caller) => ({
  holder: actorOf(caller),
  isAdjudicator: caller.isAdjudicator,
  project: caller.project,
})

const without = (all: readonly string[], some: readonly string[]): string[] => {
  const named = new Set(some)
  return [...new Set(all)].filter(id => !named.has(id))
}
