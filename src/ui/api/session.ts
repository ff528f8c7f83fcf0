import { type Query, queryOptions } from '@tanstack/react-query'
import { call, Fault, needsOrganization } from './client.ts'
import { chooseOrganization, chosenOrganization } from './organization.ts'
import type { Session } from './wire.ts'

export const SESSION_KEY = ['session']

/** Who is signed in; null: nobody. */
export const sessionQuery = queryOptions({
  queryKey: SESSION_KEY,
  queryFn: async ({ signal, client }) => {
    const session = await readSession(signal).catch((error: unknown) => {
      if (error instanceof Fault && error.status === 401 && !needsOrganization(error)) return null
      throw error
    })
    const before = client.getQueryData<Session | null>(SESSION_KEY)
    if (before && session && whoIs(before) !== whoIs(session)) client.resetQueries({ predicate: isOfSomebody })
    return session
  },
  staleTime: 5 * 60_000,
  // The cookie is every tab's: another one may have signed out meanwhile, or somebody else in.
  refetchOnWindowFocus: 'always',
})

/** Who is signed in. An organization that was chosen once, and is refused now, is forgotten: it must lock nobody out. */
async function readSession(signal: AbortSignal): Promise<Session> {
  try {
    return await call<Session>('/api/session', { signal })
  } catch (error) {
    const isRefused = error instanceof Fault && (error.status === 401 || error.status === 403)
    if (!isRefused || chosenOrganization() === null) throw error
    chooseOrganization(null)
    return call<Session>('/api/session', { signal })
  }
}

/** What somebody who is signed in is called. */
export const nameOf = ({ user, key }: Session): string => user?.name || user?.email || key?.name || 'Account'

const whoIs = ({ organization, key, actorId }: Session): string => `${organization.id} ${key?.id} ${actorId}`

/** Whether a query's answer depends on who asks: all but the one that says who that is. */
export const isOfSomebody = ({ queryKey }: Pick<Query, 'queryKey'>): boolean => queryKey[0] !== SESSION_KEY[0]

/** Signs this browser in with a key, or with a link that is good for once. */
export function signIn(credential: { apiKey: string } | { link: string }): Promise<Session> {
  // The key says which organization it is of, and may not be of the one that was chosen before.
  chooseOrganization(null)
  return call<Session>('/api/session', { method: 'POST', body: credential }).catch((error: unknown) => {
    // No fault of the session that there may be already.
    if (error instanceof Fault && error.status === 401)
      throw new Error(REFUSALS['link' in credential ? 'link' : 'apiKey'])
    throw error
  })
}

const REFUSALS = {
  apiKey: "This key doesn't exist, or it was revoked or has expired.",
  link: 'This link was already used, or has expired. Each link works once.',
} as const

export const signOut = (): Promise<unknown> => call('/api/session', { method: 'DELETE' })
