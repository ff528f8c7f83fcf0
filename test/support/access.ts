import { env } from 'cloudflare:workers'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { vi } from 'vitest'
import type { Env } from '../../src/env.ts'
import { type Client, client } from './org.ts'
import { ORIGIN } from './session.ts'

const AUDIENCE = '4714c1358e65fe4b408ad6d432a5f878f08194bdb4752441fd56faefa9b2b6f2'

/** A fake of a team's Cloudflare Access, which serves the team's keys without the network. */
export interface Team {
  bindings: Env
  /** A token as Access issues it for this deployment, with some claims changed. */
  token: (
    claims?: Record<string, unknown>,
    options?: { alg?: string; kid?: string; key?: CryptoKey },
  ) => Promise<string>
  /** A page of the service, visited through Access. */
  page: (token: string, bindings?: Env, headers?: Record<string, string>) => Client
  /** The private key for signing, and the published public key. */
  key: CryptoKey
  publicText: string
  /** How many times the team's keys were requested. */
  keyRequests: () => number
  /** Sets the response to requests for the team's keys. If it's null, the response contains the keys. */
  respondWith: (response: (() => Response | Promise<Response>) | null) => void
}

/** Creates a team that no isolate has cached. It replaces `fetch` until mocks are restored. */
export async function newTeam(settings: Partial<Env> = {}): Promise<Team> {
  const domain = `team-${crypto.randomUUID()}.cloudflareaccess.com`
  const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true })
  const jwk = { ...(await exportJWK(publicKey)), kid: 'current', alg: 'RS256', use: 'sig' }
  let keyRequests = 0
  let respond: (() => Response | Promise<Response>) | null = null
  vi.spyOn(globalThis, 'fetch').mockImplementation(async input => {
    if (String(input) !== `https://${domain}/cdn-cgi/access/certs`) throw new Error(`no server at ${input}`)
    keyRequests++
    return respond ? respond() : Response.json({ keys: [jwk], public_cert: {}, public_certs: [] })
  })
  const bindings = { ...env, ACCESS_TEAM_DOMAIN: domain, ACCESS_AUD: AUDIENCE, ...settings }
  return {
    bindings,
    token: (claims = {}, { alg = 'RS256', kid = 'current', key = privateKey } = {}) => {
      const now = Math.floor(Date.now() / 1000)
      const issued = { iss: `https://${domain}`, aud: [AUDIENCE], iat: now, nbf: now, exp: now + 3600, type: 'app' }
      return new SignJWT({ ...issued, ...claims }).setProtectedHeader({ alg, kid }).sign(key)
    },
    page: (token, wrapped = bindings, headers = {}) =>
      client({ 'cf-access-jwt-assertion': token, origin: ORIGIN, ...headers }, wrapped),
    key: privateKey,
    publicText: JSON.stringify(jwk),
    keyRequests: () => keyRequests,
    respondWith: next => {
      respond = next
    },
  }
}
