import * as v from 'valibot'
import { requireWholeOrganization } from '../auth/require-project.ts'
import { userUuid } from '../domain/ids.ts'
import { Email } from '../http/atoms.ts'
import { firstOf, NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { endpoint } from '../http/endpoint.ts'
import { conflict } from '../http/errors.ts'
import { addUser, listUsers as readUsers } from '../store/users.ts'
import { Name, toUser, User } from './wire.ts'

const TAKEN = 'A user with this e-mail exists'

export const listUsers = endpoint({
  method: 'GET',
  path: '/api/users',
  summary: "List the organization's users, by e-mail",
  scope: 'manage',
  query: v.strictObject(pageParameters),
  responses: { 200: v.object({ users: v.array(User), nextCursor: NextCursor }) },
}).handle(async ({ query, store }) => {
  const { items, nextCursor } = await pageOf({
    list: ['users', store.organization.id],
    query,
    place: ['string'],
    read: async (limit, after) => {
      const found = await readUsers(store, { limit: limit + 1, after: after?.[0] ?? '' })
      return firstOf(found, limit, ({ email }) => [email])
    },
  })
  return { status: 200, body: { users: items.map(toUser), nextCursor } }
})

export const createUser = endpoint({
  method: 'POST',
  path: '/api/users',
  summary: 'Create a user, for whom keys can act',
  scope: 'manage',
  body: v.strictObject({ email: Email, name: Name }),
  errors: { 409: TAKEN },
  responses: { 201: User },
}).handle(async ({ body: { email, name }, caller, store, act, now }) => {
  requireWholeOrganization(caller)
  const user = { id: await userUuid(store.organization.id, email), email, name, createdAt: now }
  if (!(await addUser(store, act, user))) throw conflict(TAKEN, 'email')
  return { status: 201, body: toUser(user) }
})
