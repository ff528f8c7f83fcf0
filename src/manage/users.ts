import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { USER_ID } from '../api/story.ts'
import { requirePerson } from '../auth/require-person.ts'
import { requireWholeOrganization } from '../auth/require-project.ts'
import { newId } from '../domain/ids.ts'
import { Email, Uuid } from '../http/atoms.ts'
import { firstOf, NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { conflict, forbidden, notFound } from '../http/errors.ts'
import { isForeignUser } from '../store/accounts/ownership.ts'
import {
  addUser,
  listUsers as readUsers,
  deleteUser as removeUser,
  updateUser as saveUser,
  userExists,
} from '../store/accounts/users.ts'
import { user } from './examples.ts'
import { Adjudicator, Name, toUser, User } from './wire.ts'

const TAKEN = 'A user with this email already exists'

export const listUsers = endpoint({
  family: 'manage',
  method: 'GET',
  path: '/api/users',
  summary: "List the organization's users, sorted by email",
  description: "A key limited to one project gets only the users that the project's keys act for.",
  scope: 'manage',
  query: v.strictObject(pageParameters),
  responses: { 200: v.object({ users: v.array(User), nextCursor: NextCursor }) },
  example: {
    answers: { 200: { users: [user], nextCursor: null } },
  },
}).handle(async ({ query, caller, store }) => {
  const { items, nextCursor } = await pageOf({
    list: ['users', store.organization.id],
    query,
    place: ['string'],
    read: async (limit, after) => {
      const found = await readUsers(store, caller.project, { limit: limit + 1, after: after?.[0] ?? '' })
      return firstOf(found, limit, ({ email }) => [email])
    },
  })
  return { status: 200, body: { users: items.map(toUser), nextCursor } }
})

export const createUser = endpoint({
  family: 'manage',
  method: 'POST',
  path: '/api/users',
  summary: 'Create a user',
  description:
    'The user can sign in through Cloudflare Access, and keys can act for them. If the user is known only from feedback, this confirms them. Only a person may set `adjudicator`.',
  scope: 'manage',
  body: v.strictObject({ email: Email, name: Name, adjudicator: v.optional(Adjudicator) }),
  errors: { 409: TAKEN },
  responses: { 201: User },
  example: {
    body: { email: user.email, name: user.name },
    answers: { 201: user },
  },
}).handle(async ({ body: { email, name, adjudicator }, caller, store, act, now }) => {
  requireWholeOrganization(caller)
  if (adjudicator !== undefined) requirePerson(caller)
  const draft = { id: newId(), email, name, isAdjudicator: adjudicator ?? false, createdAt: now }
  const user = await addUser(store, act, draft)
  if (!user) throw conflict(TAKEN, 'email')
  return { status: 201, body: toUser(user) }
})

export const updateUser = endpoint({
  family: 'manage',
  method: 'PATCH',
  path: '/api/users/{userId}',
  summary: 'Update a user',
  description:
    "The user's ID and records stay unchanged, as do omitted fields. Only a person may change `adjudicator`, which takes effect within 30 seconds.",
  scope: 'manage',
  params: v.object({ userId: Uuid }),
  body: v.strictObject({
    email: v.optional(Email),
    name: v.optional(Name),
    adjudicator: v.optional(Adjudicator),
  }),
  errors: { 409: TAKEN },
  responses: { 200: User },
  example: {
    params: { userId: USER_ID },
    body: { name: user.name },
    answers: { 200: user },
  },
}).handle(async ({ params: { userId }, body, caller, store, act, unscoped }) => {
  requireWholeOrganization(caller)
  const { adjudicator: isAdjudicator, ...changes } = body
  if (isAdjudicator !== undefined) requirePerson(caller)
  const user = await saveUser(store, act, userId, { ...changes, isAdjudicator })
  if (!user) throw (await isForeignUser(unscoped, store.organization, userId)) ? forbidden() : notFound()
  if (user === 'email_taken') throw conflict(TAKEN, 'email')
  return { status: 200, body: toUser(user) }
})

export const deleteUser = endpoint({
  family: 'manage',
  method: 'DELETE',
  path: '/api/users/{userId}',
  summary: 'Delete a user',
  description:
    "Revokes the keys that act for the user, clears the user's name and email, and keeps the user's records under a random ID.",
  scope: 'manage',
  params: v.object({ userId: Uuid }),
  responses: { 200: v.object({ id: Uuid }) },
  example: {
    params: { userId: USER_ID },
    answers: { 200: { id: USER_ID } },
  },
}).handle(async ({ params: { userId }, caller, store, act, enqueue }) => {
  if (caller.project && !(await userExists(store, userId))) throw notFound()
  requireWholeOrganization(caller)
  if (!(await removeUser(store, act, userId, newId()))) throw notFound()
  enqueue({ kind: 'forget_user', organizationKey: store.organization.key, userId })
  return { status: 200, body: { id: userId } }
})
