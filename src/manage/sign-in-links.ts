import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { makeToken } from '../auth/keys.ts'
import { SCOPES } from '../domain/api-key.ts'
import { IsoTime, isoTime, wholeNumber } from '../http/atoms.ts'
import { forbidden } from '../http/errors.ts'
import { MAX_SIGN_IN_LINK_SECONDS, MIN_SIGN_IN_LINK_SECONDS, SIGN_IN_LINK_SECONDS } from '../limits.ts'
import { addSignInLink } from '../store/accounts/sessions.ts'
import { TOKEN } from './examples.ts'

const expiresInSeconds = v.optional(
  wholeNumber(MIN_SIGN_IN_LINK_SECONDS, MAX_SIGN_IN_LINK_SECONDS),
  SIGN_IN_LINK_SECONDS,
)

export const createSignInLink = endpoint({
  family: 'session',
  method: 'POST',
  path: '/api/sign-in-links',
  summary: 'Create a sign-in link',
  description: 'Returns a token for /sign-in#<token>, which signs in one browser, once, as the calling key.',
  scope: SCOPES,
  body: v.optional(v.strictObject({ expiresInSeconds }), { expiresInSeconds: SIGN_IN_LINK_SECONDS }),
  responses: {
    201: v.object({
      token: v.pipe(v.string(), v.metadata({ description: 'Shown only once' })),
      expiresAt: IsoTime,
    }),
  },
  example: {
    body: { expiresInSeconds: 900 },
    answers: { 201: { token: TOKEN, expiresAt: '2026-11-02T08:15:00.000Z' } },
  },
}).handle(async ({ body: { expiresInSeconds }, caller, store, act, now }) => {
  if (caller.keyId === null)
    throw forbidden('A sign-in link needs a key, but you signed in through Cloudflare Access without one')
  // Otherwise, anyone who has ever had a session could renew it forever.
  if (caller.sessionExpiresAt !== null) throw forbidden("A session can't create a link; use the key itself")
  const { secret, hash } = await makeToken()
  const expiresAt = now + 1000 * expiresInSeconds
  await addSignInLink(store, act, { hash, keyId: caller.keyId, projectKey: caller.project?.key ?? null, expiresAt })
  return { status: 201, body: { token: secret, expiresAt: isoTime(expiresAt) } }
})
