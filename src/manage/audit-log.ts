import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import {
  CREATED,
  DOC_VERSION_ID,
  ENTRY_ID,
  KEY_ID,
  PROJECT_ID,
  PROMPT_ID,
  PROMPT_VERSION_ID,
  REQUEST_ID,
  USER_ID,
} from '../api/story.ts'
import { IsoTime, isoTime, timestamp, Uuid, uuid } from '../http/atoms.ts'
import { NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { selectedProject } from '../read/project.ts'
import { AUDIT_ACTIONS, type AuditEntry, listEntries } from '../store/accounts/audit.ts'

export const Entry = v.object({
  id: Uuid,
  at: IsoTime,
  action: v.pipe(v.string(), v.metadata({ description: 'The action: `<resource>.<verb>`' })),
  actor: v.pipe(
    v.object({ keyId: v.nullable(Uuid), userId: v.nullable(Uuid) }),
    v.metadata({
      description:
        'The calling key, and the user it acts for. If there is a user but no key, the user signed in through Cloudflare Access. If both are null, the call used ADMIN_TOKEN.',
    }),
  ),
  projectId: v.pipe(
    v.nullable(Uuid),
    v.metadata({ description: 'Null if the action applies to the whole organization' }),
  ),
  targetId: v.pipe(Uuid, v.metadata({ description: 'The target of the action' })),
  beforeId: v.pipe(
    v.nullable(Uuid),
    v.metadata({ description: 'The item that was active before the action, such as a version' }),
  ),
  afterId: v.pipe(v.nullable(Uuid), v.metadata({ description: 'The item that is active after the action' })),
  requestId: v.pipe(Uuid, v.metadata({ description: "The `x-request-id` of the call's response" })),
  reason: v.pipe(
    v.nullable(v.string()),
    v.metadata({ description: 'Why somebody overrode a gate. Null if nobody overrode one.' }),
  ),
})

export const listAuditLog = endpoint({
  family: 'manage',
  method: 'GET',
  path: '/api/audit-log',
  summary: 'List audit log entries, newest first',
  description: "A key limited to one project gets only that project's entries.",
  scope: 'manage',
  query: v.strictObject({
    action: v.optional(v.picklist(AUDIT_ACTIONS)),
    keyId: v.optional(uuid('Only actions by this key')),
    userId: v.optional(uuid('Only actions by this user or by keys that act for them')),
    targetId: v.optional(uuid('Only actions on this target')),
    projectId: v.optional(uuid('Only actions in this project')),
    from: v.optional(timestamp('Only entries at or after this time')),
    to: v.optional(timestamp('Only entries before this time')),
    ...pageParameters,
  }),
  errors: { 404: 'Not found' },
  responses: { 200: v.object({ entries: v.array(Entry), nextCursor: NextCursor }) },
  example: {
    answers: {
      200: {
        entries: [
          {
            id: ENTRY_ID,
            at: CREATED,
            action: 'prompt.activate',
            actor: { keyId: KEY_ID, userId: USER_ID },
            projectId: PROJECT_ID,
            targetId: PROMPT_ID,
            beforeId: DOC_VERSION_ID,
            afterId: PROMPT_VERSION_ID,
            requestId: REQUEST_ID,
            reason: null,
          },
        ],
        nextCursor: null,
      },
    },
  },
}).handle(async context => {
  const { query, caller, store } = context
  const { projectId, ...filter } = query
  const project = projectId === undefined ? caller.project : await selectedProject(context, { projectId })
  const { items, nextCursor } = await pageOf({
    list: ['audit-log', store.organization.id, ...(project ? [project.id] : [])],
    query,
    place: ['number', 'string'],
    read: async (limit, after) => {
      const position = after && { createdAt: after[0], id: after[1] }
      const { items, nextPlace } = await listEntries(store, { ...filter, project }, { limit, after: position })
      return { items, nextPlace: nextPlace && [nextPlace.createdAt, nextPlace.id] }
    },
  })
  return { status: 200, body: { entries: items.map(toEntry), nextCursor } }
})

const toEntry = ({ createdAt, keyId, userId, ...entry }: AuditEntry): v.InferOutput<typeof Entry> => ({
  id: entry.id,
  at: isoTime(createdAt),
  action: entry.action,
  actor: { keyId, userId },
  projectId: entry.projectId,
  targetId: entry.targetId,
  beforeId: entry.beforeId,
  afterId: entry.afterId,
  requestId: entry.requestId,
  reason: entry.reason,
})
