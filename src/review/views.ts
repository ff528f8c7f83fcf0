import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { CREATED, USER_ID, VIEW_ID } from '../api/story.ts'
import { requireProject } from '../auth/require-project.ts'
import { newId } from '../domain/ids.ts'
import { VIEW_PAGES } from '../domain/saved-view.ts'
import { described, IsoTime, isoTime, text, Uuid } from '../http/atoms.ts'
import { firstOf, NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { forbidden, notFound, unprocessable } from '../http/errors.ts'
import { MAX_NAME_LENGTH, MAX_OWN_VIEWS, MAX_SHARED_VIEWS, MAX_VIEW_QUERY_LENGTH } from '../limits.ts'
import { projectSelector, selectedProject } from '../read/project.ts'
import { actorOf } from '../store/accounts/audit.ts'
import {
  findView,
  listViews as readViews,
  deleteView as removeView,
  type SavedView,
  saveView,
} from '../store/accounts/saved-views.ts'

const TOO_MANY = {
  too_many: () => unprocessable(`You can have at most ${MAX_OWN_VIEWS} views in a project`, 'name'),
  too_many_shared: () => unprocessable(`A project can have at most ${MAX_SHARED_VIEWS} shared views`, 'shared'),
}

const Page = described(v.picklist(VIEW_PAGES), 'The page of the app that the view filters')

const Query = v.pipe(
  text(0, MAX_VIEW_QUERY_LENGTH),
  v.regex(/^[^#\s\p{Cc}]*$/u, 'must be a URL query without spaces, control characters, or #'),
  v.metadata({
    description: "The page's filters as a URL query, with the names of the list endpoint's parameters",
    examples: ['review=corrected&stepId=support-answer'],
  }),
)

const Shared = described(v.boolean(), 'Whether everyone in the project sees the view')

export const View = v.object({
  id: Uuid,
  name: v.string(),
  page: Page,
  query: v.string(),
  shared: Shared,
  ownerId: described(Uuid, 'The user who saved the view, or the key if it acts for no user'),
  updatedAt: IsoTime,
})

const toView = ({ id, name, page, query, isShared, ownerId, updatedAt }: SavedView): v.InferOutput<typeof View> => ({
  id,
  name,
  page,
  query,
  shared: isShared,
  ownerId,
  updatedAt: isoTime(updatedAt),
})

const view = {
  id: VIEW_ID,
  name: 'Corrected answers',
  page: 'traces',
  query: 'review=corrected&stepId=support-answer',
  shared: true,
  ownerId: USER_ID,
  updatedAt: CREATED,
} as const

export const listViews = endpoint({
  family: 'review',
  method: 'GET',
  path: '/api/views',
  summary: "List your saved views and the project's shared ones, by name",
  scope: 'read',
  query: v.strictObject({ ...projectSelector, page: v.optional(Page), ...pageParameters }),
  errors: { 404: 'Not found' },
  responses: { 200: v.object({ views: v.array(View), nextCursor: NextCursor }) },
  example: {
    query: { projectSlug: 'support', page: 'traces' },
    answers: { 200: { views: [view], nextCursor: null } },
  },
}).handle(async context => {
  const { query, caller, store } = context
  const project = await selectedProject(context, query)
  const filter = { ownerId: actorOf(caller), page: query.page }
  const { items, nextCursor } = await pageOf({
    list: ['views', store.organization.id, project.id, filter.ownerId],
    query,
    place: ['string', 'string'],
    read: async (limit, after) =>
      firstOf(
        await readViews(store, project, filter, { limit: limit + 1, after }),
        limit,
        ({ name, id }) => [name, id] as const,
      ),
  })
  return { status: 200, body: { views: items.map(toView), nextCursor } }
})

export const postView = endpoint({
  family: 'review',
  method: 'POST',
  path: '/api/views',
  summary: 'Save a view',
  description:
    "Saves a page's filters under a name. If you already have a view with that name for that page, it's replaced, and the response is a 200.",
  scope: ['review', 'manage'],
  body: v.strictObject({
    projectSlug: v.string(),
    name: text(1, MAX_NAME_LENGTH),
    page: Page,
    query: Query,
    shared: v.optional(Shared, false),
  }),
  errors: { 404: 'Not found', 422: TOO_MANY.too_many().message },
  responses: { 200: View, 201: View },
  example: {
    body: { projectSlug: 'support', name: view.name, page: view.page, query: view.query, shared: true },
    answers: { 200: view, 201: view },
  },
}).handle(async context => {
  const { body, caller, store, act, now } = context
  const project = await selectedProject(context, body)
  const { name, page, query, shared } = body
  const id = newId()
  const draft = { id, ownerId: actorOf(caller), page, name, query, isShared: shared, updatedAt: now }
  const saved = await saveView(store, act, project, draft)
  if (typeof saved === 'string') throw TOO_MANY[saved]()
  return { status: saved.id === id ? 201 : 200, body: toView(saved) }
})

export const deleteView = endpoint({
  family: 'review',
  method: 'DELETE',
  path: '/api/views/{viewId}',
  summary: 'Delete a saved view',
  description: "Deletes your own view. With the `manage` scope, you can also delete others' shared views.",
  scope: ['review', 'manage'],
  params: v.object({ viewId: Uuid }),
  responses: { 200: v.object({ id: Uuid }) },
  example: {
    params: { viewId: VIEW_ID },
    answers: { 200: { id: VIEW_ID } },
  },
}).handle(async ({ params: { viewId }, caller, store, act }) => {
  const view = await findView(store, viewId)
  const isOwn = view?.ownerId === actorOf(caller)
  if (!view || !(isOwn || view.isShared)) throw notFound()
  requireProject(caller, view.projectKey)
  if (!isOwn && !caller.scopes.includes('manage'))
    throw forbidden('Only its owner or a manager can delete a shared view')
  await removeView(store, act, view)
  return { status: 200, body: { id: viewId } }
})
