import { type Query, queryOptions, useQuery } from '@tanstack/react-query'
import { call, Fault, needsOrganization } from './client.ts'
import { chooseOrganization, chosenOrganization } from './organization.ts'
import type { Session } from './wire.ts'

export const SESSION_KEY = ['session']

/** The current session; null if signed out. */
export const sessionQuery = queryOptions({
  queryKey: SESSION_KEY,
  queryFn: async ({ signal, client }) => {
    const organization = chosenOrganization()
    const session = await readSession(signal).catch((error: unknown) => {
      if (error instanceof Fault && error.status === 401 && !needsOrganization(error)) return null
      throw error
    })
    const before = client.getQueryData<Session | null>(SESSION_KEY)
    const isOther = before && session && identityOf(before) !== identityOf(session)
    // Pages send their requests at the same time as this one, so those requests are for the organization that was
    // chosen then.
    if (isOther || (session && organization !== chosenOrganization())) {
      client.resetQueries({ predicate: dependsOnSession })
    }
    return session
  },
  staleTime: 5 * 60_000,
  // All tabs share the cookie: another tab may have signed out or switched users.
  refetchOnWindowFocus: 'always',
})

/** Loads the session. If the chosen organization is now rejected, forgets it, so it can't lock the user out. */
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

/** Whether the session's user is an adjudicator, who settles disagreements between reviewers. */
export function useIsAdjudicator(): boolean {
  const { data: session } = useQuery(sessionQuery)
  return (
    session?.user?.adjudicator === true &&
    session.actsAs === 'person' &&
    (['read', 'review'] as const).every(scope => session.scopes.includes(scope))
  )
}

/** Whether the session may see how often reviewers agree; undefined while loading. */
export function useMayCompare(): boolean | undefined {
  const { data: session } = useQuery(sessionQuery)
  const isAdjudicator = useIsAdjudicator()
  return session ? isAdjudicator || session.scopes.includes('manage') : undefined
}

/** The signed-in user's name. */
export const nameOf = ({ user, key }: Session): string => user?.name || user?.email || key?.name || 'Account'

const identityOf = ({ organization, key, actorId }: Session): string => `${organization.id} ${key?.id} ${actorId}`

/** Whether a query depends on the session. All queries do, except the session's own. */
export const dependsOnSession = ({ queryKey }: Pick<Query, 'queryKey'>): boolean => queryKey[0] !== SESSION_KEY[0]

/** Signs in with a key or a one-time link. */
export function signIn(credential: { apiKey: string } | { link: string }): Promise<Session> {
  // The key determines the organization, which may differ from the one chosen before.
  chooseOrganization(null)
  return call<Session>('/api/session', { method: 'POST', body: credential }).catch((error: unknown) => {
    // A wrong credential doesn't end an existing session.
    if (error instanceof Fault && error.status === 401)
      throw new Error(REFUSALS['link' in credential ? 'link' : 'apiKey'])
    throw error
  })
}

const REFUSALS = {
  apiKey: "This key doesn't exist, was revoked, or has expired.",
  link: 'This link has expired or was already used. Each link works once.',
} as const

export const signOut = (): Promise<unknown> => call('/api/session', { method: 'DELETE' })
