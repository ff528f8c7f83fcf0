import { env } from 'cloudflare:workers'
import type { Env } from '../../src/env.ts'
import { type ApiResponse, type Client, client } from './org.ts'

/** The origin that browsers send from the service's own pages. */
export const ORIGIN = 'https://countersign.test'

/** A signed-out page with its own IP address, because the number of sign-ins from an address is limited. */
export const visitor = (bindings: Env = env) =>
  client({ origin: ORIGIN, 'cf-connecting-ip': crypto.randomUUID() }, bindings)

/** The cookie that a response sets, as a browser sends it back. */
export const cookieIn = ({ headers }: ApiResponse): string => headers.get('set-cookie')?.split(';')[0] ?? ''

/** A page of the service in a browser with a cookie. */
export const page = (cookie: string, bindings: Env = env, origin: string | null = ORIGIN): Client =>
  client({ cookie, ...(origin !== null && { origin }) }, bindings)

/** Signs a browser in with a key, and returns its cookie. */
export async function signIn(apiKey: string): Promise<string> {
  const response = await visitor().post('/api/session', { apiKey })
  if (response.status !== 201) throw new Error(`signing in returned ${response.status}`)
  return cookieIn(response)
}
