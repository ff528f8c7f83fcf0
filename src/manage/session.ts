import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { KEY_ID } from '../api/story.ts'
import { accessTokenOf, listAccessOrganizations } from '../auth/access.ts'
import { authenticateKey, type Caller, sessionCaller } from '../auth/authenticate.ts'
import { hashKey, isToken, makeToken } from '../auth/keys.ts'
import { forgetSession, sessionSecretOf } from '../auth/session.ts'
import { viewerOf } from '../auth/viewer.ts'
import { SCOPES } from '../domain/api-key.ts'
import type { Runtime } from '../env.ts'
import { described, IsoTime, isoTime, Slug, shownAs, text, Uuid } from '../http/atoms.ts'
import { ERRORS, notAuthenticated } from '../http/errors.ts'
import { MAX_LISTED_MEMBERSHIPS, MAX_NAME_LENGTH, MAX_SESSION_PROJECTS, SESSION_SECONDS } from '../limits.ts'
import { lookUpSecret } from '../rate-limit/address.ts'
import { actorOf } from '../store/accounts/audit.ts'
import {
  addSession,
  findIdentity,
  redeemSignInLink,
  endSession as revokeSession,
  type SessionDraft,
} from '../store/accounts/sessions.ts'
import { openStore, type Store, type UnscopedStore } from '../store/core/store.ts'
import { session, TOKEN } from './examples.ts'
import { ActsAs, Adjudicator } from './wire.ts'

const Project = v.object({ id: Uuid, slug: Slug, name: v.string() })

export const Session = v.object({
  organization: v.object({ id: Uuid, slug: Slug, name: v.string() }),
  project: described(
    v.nullable(Project),
    'The only project that the key can access. Null if it can access all projects.',
  ),
  projects: described(
    v.array(Project),
    `The projects that the caller can access, sorted by slug; at most the first ${MAX_SESSION_PROJECTS}`,
  ),
  user: described(
    v.nullable(v.object({ id: Uuid, email: v.string(), name: v.string(), adjudicator: Adjudicator })),
    'The user that the caller acts for. Null if the caller acts for no user.',
  ),
  key: described(
    v.nullable(v.object({ id: Uuid, name: v.string(), prefix: v.string() })),
    'The key that the caller uses. Null if the caller signed in through Cloudflare Access.',
  ),
  actorId: described(
    Uuid,
    "The ID on the caller's reviews and comments: the user's, or the key's if the key acts for no user",
  ),
  scopes: v.array(v.picklist(SCOPES)),
  actsAs: ActsAs,
  expiresAt: described(v.nullable(IsoTime), 'When the session ends. Null if there is no session.'),
})

const Secret = text(1, MAX_NAME_LENGTH)

const Link = described(Secret, 'The token of a sign-in link')

const Credentials = v.pipe(
  shownAs(
    v.strictObject({ apiKey: v.optional(Secret), link: v.optional(Link) }),
    v.union([v.strictObject({ apiKey: Secret }), v.strictObject({ link: Link })]),
  ),
  v.check(({ apiKey, link }) => (apiKey === undefined) !== (link === undefined), 'must have either `apiKey` or `link`'),
)

export const beginSession = endpoint({
  family: 'session',
  method: 'POST',
  path: '/api/session',
  summary: 'Create a browser session',
  description:
    "Signs in with an API key or a sign-in link. For 12 hours, requests with the session's cookie act as the API key, or as the key that created the link.",
  scope: 'public',
  managesSession: true,
  isLimitedByAddress: true,
  body: Credentials,
  errors: { 401: ERRORS[401].message, 503: ERRORS[503].message },
  location: 201,
  responses: { 201: Session },
  example: {
    body: { link: TOKEN },
    answers: { 201: session },
  },
}).handle(async ({ body, request, requestId, unscoped, runtime, now }) => {
  const { secret, hash } = await makeToken()
  const replaced = sessionSecretOf(request)
  const replacedHash = replaced === undefined ? null : await hashKey(replaced)
  const lookup = { ...runtime, request, deadline: unscoped.deadline, now }
  const draft = { hash, replacedHash, createdAt: now, endsAt: now + 1000 * SESSION_SECONDS }
  if (body.link !== undefined) await openWithLink(unscoped, body.link, draft, runtime)
  else {
    const { keyId } = await authenticateKey(body.apiKey, lookup)
    await addSession(unscoped, keyId, draft, requestId)
  }
  const caller = await sessionCaller(secret, lookup)
  if (!caller) throw notAuthenticated()
  if (replaced) forgetSession(replaced)
  const store = openStore(runtime.env, caller.organization, unscoped.deadline, viewerOf(caller))
  return { status: 201, body: await toSession(store, caller), session: secret, location: '/api/session' }
})

/** 401 if the link is unknown, expired, or already used. 429 if an address tries too many links. */
async function openWithLink(
  unscoped: UnscopedStore,
  link: string,
  draft: SessionDraft,
  { address, requestId }: Pick<Runtime, 'address' | 'requestId'>,
): Promise<void> {
  const redeem = async () =>
    (isToken(link) && (await redeemSignInLink(unscoped, await hashKey(link), draft, requestId))) || undefined
  if (!(await lookUpSecret(address, redeem, draft.createdAt))) throw notAuthenticated()
}

export const getSession = endpoint({
  family: 'session',
  method: 'GET',
  path: '/api/session',
  summary: "Get the caller's identity and permissions",
  scope: SCOPES,
  reads: 'primary',
  managesSession: true,
  responses: { 200: Session },
  example: {
    answers: { 200: session },
  },
}).handle(async ({ caller, store }) => ({ status: 200, body: await toSession(store, caller) }))

export const listOwnOrganizations = endpoint({
  family: 'session',
  method: 'GET',
  path: '/api/session/organizations',
  summary: "List a Cloudflare Access user's organizations",
  description: 'To choose an organization, send its slug in `x-org-slug`.',
  scope: 'public',
  managesSession: true,
  isLimitedByAddress: true,
  errors: { 401: ERRORS[401].message, 503: ERRORS[503].message },
  responses: {
    200: v.object({
      organizations: described(
        v.array(v.object({ slug: Slug, name: v.string() })),
        `Sorted by name. If there are more than ${MAX_LISTED_MEMBERSHIPS}, only the oldest ${MAX_LISTED_MEMBERSHIPS} are listed.`,
      ),
    }),
  },
  example: {
    answers: { 200: { organizations: [{ slug: 'acme', name: 'Acme' }] } },
  },
}).handle(async ({ request, unscoped, runtime, now }) => {
  const organizations = await listAccessOrganizations(accessTokenOf(request), runtime.env, unscoped, now)
  return { status: 200, body: { organizations } }
})

export const endSession = endpoint({
  family: 'session',
  method: 'DELETE',
  path: '/api/session',
  summary: 'Delete the browser session',
  description: "Signs out: ends the cookie's session, if any, and clears the cookie.",
  scope: 'public',
  managesSession: true,
  isLimitedByAddress: true,
  errors: { 503: ERRORS[503].message },
  responses: {
    200: v.object({ id: described(v.nullable(Uuid), "The ID of the session's key. Null if there was no session.") }),
  },
  example: {
    answers: { 200: { id: KEY_ID } },
  },
}).handle(async ({ request, requestId, unscoped, now }) => {
  const secret = sessionSecretOf(request)
  const keyId = secret && (await revokeSession(unscoped, await hashKey(secret), { at: now, requestId }))
  if (secret) forgetSession(secret)
  return { status: 200, body: { id: keyId ?? null }, session: null }
})

async function toSession(store: Store, caller: Caller): Promise<v.InferOutput<typeof Session>> {
  const { organizationName, projects, user, key } = await findIdentity(store, caller, MAX_SESSION_PROJECTS)
  const { id, slug } = caller.organization
  return {
    organization: { id, slug, name: organizationName },
    project: (caller.project && projects.find(project => project.id === caller.project?.id)) ?? null,
    projects,
    user: user ? { id: user.id, email: user.email, name: user.name, adjudicator: user.isAdjudicator } : null,
    key: key ?? null,
    actorId: actorOf(caller),
    scopes: [...caller.scopes],
    actsAs: caller.actsAs,
    expiresAt: caller.sessionExpiresAt === null ? null : isoTime(caller.sessionExpiresAt),
  }
}
