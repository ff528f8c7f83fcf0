import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { CURSOR, ROOT_SPAN_ID, SPAN_ID, USER_ID } from '../api/story.ts'
import type { Caller } from '../auth/authenticate.ts'
import { type AssignmentChange, shareOut } from '../domain/assignment.ts'
import { described, object, record, text, timestamp, Uuid, uuid } from '../http/atoms.ts'
import { NextCursor, pageOf } from '../http/cursor.ts'
import { badRequest, invalidRequest } from '../http/errors.ts'
import {
  MAX_ASSIGNED_SPANS,
  MAX_ASSIGNEES,
  MAX_CURSOR_LENGTH,
  MAX_FIELD_PATH_BYTES,
  MAX_OPEN_ASSIGNMENTS,
} from '../limits.ts'
import { assigneeFor, assigneeParameter } from '../read/assignee.ts'
import { projectSelector, selectedProject } from '../read/project.ts'
import { TrueOrFalse, traceFilter, traceFilters } from '../read/trace-filters.ts'
import type { Act } from '../store/accounts/audit.ts'
import type { Project } from '../store/accounts/projects.ts'
import { findAssignable } from '../store/accounts/users.ts'
import type { Store, UnscopedStore } from '../store/core/store.ts'
import {
  type AssignableSpan,
  countOpenAssignments,
  findAssignableSpans,
  isSharable,
  saveAssignments,
} from '../store/reviews/assignments.ts'
import { findInQueue } from '../store/reviews/queue.ts'
import { groupBySpan } from '../store/traces/placed.ts'
import { fromQueuePlace, QUEUE_PLACE, toQueuePlace } from './queue-cursor.ts'

const Filter = object(
  v.strictObject({
    ...projectSelector,
    ...traceFilters,
    assignee: assigneeParameter,
    all: v.optional(
      described(TrueOrFalse, "Whether to include spans that the project's review policy leaves out"),
      'false',
    ),
    metadata: described(
      v.optional(record(text(1, MAX_FIELD_PATH_BYTES), v.string())),
      'Values of metadata fields by dotted path, as in `metadata.<path>=value`',
    ),
  }),
)

const Assignment = v.strictObject({
  spanIds: described(
    v.optional(v.pipe(v.array(Uuid), v.maxLength(MAX_ASSIGNED_SPANS, `must have at most ${MAX_ASSIGNED_SPANS} IDs`))),
    'Spans in one project. Either this or `filter` is required.',
  ),
  filter: described(
    v.optional(Filter),
    `The spans to assign, selected as in \`GET /api/review-queue\`, whether or not they are claimed. A call assigns up to ${MAX_ASSIGNED_SPANS} of them, oldest traces first.`,
  ),
  userIds: described(
    v.pipe(v.array(Uuid), v.maxLength(MAX_ASSIGNEES, `must have at most ${MAX_ASSIGNEES} IDs`)),
    'The people to assign the spans to. If empty, the assignments of `spanIds` or `fromUserId` end.',
  ),
  fromUserId: v.optional(
    uuid("Moves only this user's assignments. They keep their due dates unless `dueAt` is given."),
  ),
  replace: described(
    v.optional(v.boolean(), false),
    "Whether to end other people's assignments of these spans. If not, spans that are already assigned to enough people stay as they are.",
  ),
  dueAt: described(
    v.optional(v.nullable(timestamp('When the spans should be reviewed'))),
    'When the spans should be reviewed. Also changes the due date of spans that are already assigned to one of these people. Null means no due date.',
  ),
  preview: described(v.optional(v.boolean(), false), 'Whether to only report what the call would do'),
  cursor: described(
    v.optional(v.pipe(v.string(), v.maxLength(MAX_CURSOR_LENGTH, 'is not a cursor for this list'))),
    'The `nextCursor` of the previous call with the same filter',
  ),
})

type Body = v.InferOutput<typeof Assignment>

export const assignSpans = endpoint({
  family: 'review',
  method: 'POST',
  path: '/api/review-queue/assign',
  summary: 'Assign spans to reviewers',
  description:
    "Each span is assigned to as many of these people as its number of reviewers requires, or to all of them if there aren't enough. People with the fewest open assignments in the project come first, so the work stays evenly distributed across calls. Repeating a call changes nothing. " +
    'An assignment ends when the span is decided, and reopens if its output changes. Other people can still review the span. ' +
    `A user can have at most ${MAX_OPEN_ASSIGNMENTS} open assignments in a project.`,
  scope: 'manage',
  body: Assignment,
  errors: { 404: 'Not found' },
  responses: {
    200: v.object({
      assigned: described(
        v.array(v.object({ userId: Uuid, spans: v.number() })),
        'How many spans are newly assigned to each person',
      ),
      changedDueDates: v.number(),
      ended: described(v.number(), 'How many assignments ended without a replacement'),
      unchanged: described(v.number(), 'How many of the spans already had enough people'),
      short: described(
        v.number(),
        `How many spans were assigned to too few people, because everyone else already has ${MAX_OPEN_ASSIGNMENTS} open assignments`,
      ),
      refused: described(v.array(Uuid), "The `spanIds` that don't exist or don't need review"),
      nextCursor: described(NextCursor, 'Set if more spans may match the filter'),
    }),
  },
  example: {
    body: { spanIds: [SPAN_ID, ROOT_SPAN_ID], userIds: [USER_ID], dueAt: '2026-11-24T18:00:00.000Z' },
    answers: {
      200: {
        assigned: [{ userId: USER_ID, spans: 1 }],
        changedDueDates: 0,
        ended: 0,
        unchanged: 0,
        short: 0,
        refused: [ROOT_SPAN_ID],
        nextCursor: CURSOR,
      },
    },
  },
}).handle(async ({ body, caller, store, unscoped, act, now }) => {
  const selected = await select({ caller, store, unscoped, now }, body)
  const spans = await findAll(selected, caller.project)
  const projectKey = spans[0]?.projectKey
  const other = spans.find(span => span.projectKey !== projectKey)
  if (other) {
    throw badRequest("must be in the first span's project", `spanIds.${selected.spanIds.indexOf(other.id)}`)
  }
  const key = projectKey ?? selected.projectKey ?? 0
  await requireReviewers(store, key, body.userIds)
  const open = await countOpenAssignments(store, key, body.userIds)
  const { changes, short } = shareOut(spans, { ...body, open, maxOpen: MAX_OPEN_ASSIGNMENTS })
  const planned = {
    given: countBy(changes.flatMap(({ before, after }) => (after === null || after === before ? [] : [after]))),
    ended: changes.filter(({ after }) => after === null).length,
  }
  const { given, ended } = body.preview || changes.length === 0 ? planned : await saveAll(store, act, changes)
  const found = new Set(spans.map(({ id }) => id))
  const changed = new Set(changes.map(({ span }) => span.id))
  return {
    status: 200,
    body: {
      assigned: [...new Set(body.userIds)].map(userId => ({ userId, spans: given.get(userId) ?? 0 })),
      changedDueDates: changes.filter(({ before, after }) => before === after).length,
      ended,
      unchanged: found.size - changed.size,
      short,
      refused: body.filter ? [] : [...new Set(selected.spanIds)].filter(id => !found.has(id)),
      nextCursor: selected.nextCursor,
    },
  }
})

interface Selected {
  spanIds: readonly string[]
  /** The same ids, grouped by the database of their spans. */
  groups: ReadonlyMap<Store, readonly string[]>
  projectKey: number | undefined
  nextCursor: string | null
}

/** The spans that a call concerns. */
async function select(
  { caller, store, unscoped, now }: { caller: Caller; store: Store; unscoped: UnscopedStore; now: number },
  { spanIds, filter, userIds, fromUserId, replace, dueAt, cursor }: Body,
): Promise<Selected> {
  if (spanIds) {
    if (filter) throw badRequest('must not be combined with `spanIds`', 'filter')
    if (cursor !== undefined) throw badRequest('requires `filter`', 'cursor')
    const { groups, unplaced, failure } = await groupBySpan(store, spanIds, id => id)
    if (unplaced.length > 0) throw failure
    return { spanIds, groups, projectKey: caller.project?.key, nextCursor: null }
  }
  if (!filter) throw badRequest('`spanIds` or `filter` is required')
  if (userIds.length === 0 && fromUserId === undefined) {
    throw badRequest('must contain at least one ID unless `spanIds` or `fromUserId` is given', 'userIds')
  }
  const { metadata = {}, assignee: asked, ...query } = filter
  if (fromUserId !== undefined && asked !== undefined) {
    throw badRequest('must not be combined with `fromUserId`', 'filter.assignee')
  }
  const project = await selectedProject({ caller, store, unscoped }, query)
  const metadataFilters = Object.entries(metadata).map(([path, value]) => ({ path, value }))
  const assignee = fromUserId ?? assigneeFor(caller, asked)
  const selection = {
    filter: { ...(await traceFilter({ query, metadataFilters })), assigneeId: assignee ?? undefined },
    order: 'oldest' as const,
    all: query.all,
    assignee,
    holder: undefined,
    now,
  }
  const isSpan = isSharable(project, { userIds, fromUserId, replace, dueAt })
  const { items, nextCursor } = await pageOf({
    list: ['assign', store.organization.id, project.id],
    query: { limit: MAX_ASSIGNED_SPANS, cursor },
    place: QUEUE_PLACE,
    read: async (limit, place) => {
      const after = place && toQueuePlace(place)
      const { places, nextPlace } = await findInQueue(store, project, selection, { limit, after, isSpan })
      return { items: places, nextPlace: nextPlace && fromQueuePlace(nextPlace) }
    },
  })
  const byShard = Map.groupBy(items, ({ shard }) => store.in(shard))
  const groups = new Map([...byShard].map(([shard, places]) => [shard, places.map(({ spanId }) => spanId)]))
  return { spanIds: items.map(({ spanId }) => spanId), groups, projectKey: project.key, nextCursor }
}

/** The selected spans that need review, in the order of the selection. */
async function findAll({ spanIds, groups }: Selected, project: Project | null): Promise<AssignableSpan[]> {
  const found = await Promise.all([...groups].map(([shard, ids]) => findAssignableSpans(shard, ids, project)))
  const spanOf = new Map(found.flat().map(span => [span.id, span]))
  return [...new Set(spanIds)].flatMap(id => spanOf.get(id) ?? [])
}

/** Makes changes, each in the database of its span. */
async function saveAll(
  store: Store,
  act: Act,
  changes: readonly AssignmentChange<AssignableSpan>[],
): Promise<{ given: Map<string, number>; ended: number }> {
  const groups = Map.groupBy(changes, ({ span }) => span.shard)
  const saved = await Promise.all([...groups].map(([shard, own]) => saveAssignments(store.in(shard), act, own)))
  return { given: sumCounts(saved.map(({ given }) => given)), ended: saved.reduce((sum, { ended }) => sum + ended, 0) }
}

function sumCounts(counts: readonly ReadonlyMap<string, number>[]): Map<string, number> {
  const sums = new Map<string, number>()
  for (const [id, count] of counts.flatMap(each => [...each])) sums.set(id, (sums.get(id) ?? 0) + count)
  return sums
}

/** 400 if one of the users can't review in the project. */
async function requireReviewers(store: Store, projectKey: number, userIds: readonly string[]): Promise<void> {
  if (userIds.length === 0) return
  const assignable = await findAssignable(store, projectKey, userIds)
  const faults = userIds.flatMap((id, index) =>
    assignable.has(id) ? [] : [{ path: `userIds.${index}`, message: "isn't a user with access to the project" }],
  )
  if (faults.length > 0) throw invalidRequest(faults)
}

const countBy = (ids: readonly string[]): Map<string, number> => sumCounts(ids.map(id => new Map([[id, 1]])))
