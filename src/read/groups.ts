import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { ANSWERED, CURSOR, PROJECT_ID, STARTED } from '../api/story.ts'
import { described, IsoTime, isoTime, textOfBytes } from '../http/atoms.ts'
import { NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { MAX_FIELD_PATH_BYTES, MAX_SCANNED_TRACES } from '../limits.ts'
import { type GroupPlace, listGroups as readGroups, type TraceGroup } from '../store/traces/groups.ts'
import { projectSelector, selectedProject } from './project.ts'
import { traceFilters } from './trace-filters.ts'

export const Group = v.object({
  value: described(v.string(), 'The value that the traces share. `metadata.<key>=<value>` lists the traces.'),
  traces: described(v.number(), 'How many of the traces that the page scanned are in the group'),
  tracesIsMinimum: described(v.boolean(), 'Whether the group may have older traces'),
  firstAt: described(IsoTime, 'The time of the oldest trace'),
  lastAt: described(IsoTime, 'The time of the newest trace'),
  negative: described(v.number(), 'How many of the counted traces have negative feedback'),
})

const { from, to, kind } = traceFilters

/** The metadata path whose values define the groups. */
export const GroupKey = described(
  v.optional(textOfBytes(MAX_FIELD_PATH_BYTES), 'group_id'),
  'A metadata path, such as group_id or user.id. Default: group_id.',
)

export const listGroups = endpoint({
  family: 'read',
  method: 'GET',
  path: '/api/groups',
  summary: 'List conversations, or other groups of traces with the same metadata',
  description:
    'Traces with the same value of a metadata field form a group, such as the turns of a conversation. Groups are ' +
    "sorted by their newest trace, newest first. A trace with several values is in several groups. A null value doesn't form a " +
    `group. A page scans up to ${MAX_SCANNED_TRACES} traces in each database and 4 MiB of their metadata, so it may be short even if ` +
    'more groups follow. Each group is listed once, at its newest trace: later pages leave it out, even if they reach ' +
    "more of its traces. New traces don't move groups between pages while you read the list.",
  scope: 'read',
  query: v.strictObject({
    ...projectSelector,
    key: GroupKey,
    from,
    to,
    kind,
    ...pageParameters,
  }),
  errors: { 404: 'Not found' },
  responses: {
    200: v.object({
      groups: v.array(Group),
      searchedTo: described(v.nullable(IsoTime), 'How far back the page scanned. Null if it reached the oldest trace.'),
      nextCursor: NextCursor,
    }),
  },
  example: {
    query: { projectId: PROJECT_ID },
    answers: {
      200: {
        groups: [
          {
            value: 'session-1',
            traces: 2,
            tracesIsMinimum: false,
            firstAt: STARTED,
            lastAt: ANSWERED,
            negative: 1,
          },
        ],
        searchedTo: null,
        nextCursor: CURSOR,
      },
    },
  },
}).handle(async context => {
  const { query, store } = context
  const project = await selectedProject(context, query)
  const { items, searchedTo, nextCursor } = await pageOf({
    list: ['groups', store.organization.id, project.id, query.key],
    query,
    place: ['number', 'string', 'number', 'string', 'number'],
    read: async (limit, after) => {
      const page = await readGroups(store, project, query.key, query, { limit, after: after && toPlace(after) })
      const { groups: items, searchedTo, nextPlace } = page
      return { items, searchedTo, nextPlace: nextPlace && fromPlace(nextPlace) }
    },
  })
  return {
    status: 200,
    body: { groups: items.map(toGroup), searchedTo: searchedTo === null ? null : isoTime(searchedTo), nextCursor },
  }
})

const toGroup = ({ isMinimum, firstAt, lastAt, ...group }: TraceGroup): v.InferOutput<typeof Group> => ({
  ...group,
  tracesIsMinimum: isMinimum,
  firstAt: isoTime(firstAt),
  lastAt: isoTime(lastAt),
})

/* The place in the list, as cursors store it. */

const fromPlace = ({ until, at, handled }: GroupPlace) =>
  [until.timestamp, until.id, at.timestamp, at.id, handled] as const

const toPlace = ([untilTime, untilId, time, id, handled]: ReturnType<typeof fromPlace>): GroupPlace => ({
  until: { timestamp: untilTime, id: untilId },
  at: { timestamp: time, id },
  handled,
})
