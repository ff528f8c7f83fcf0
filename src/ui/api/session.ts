import { queryOptions } from '@tanstack/react-query'
import { call, Fault } from './client.ts'
import type { Session } from './wire.ts'

export const SESSION_KEY = ['session']

/** Who is signed in; null: nobody. */
export const sessionQuery = queryOptions({
  queryKey: SESSION_KEY,
  queryFn: ({ signal }) =>
    call<Session>('/api/session', { signal }).catch((error: unknown) => {
      if (error instanceof Fault && error.status === 401) return null
      throw error
    }),
  staleTime: 5 * 60_000,
})

/** Signs this browser in with a key, or with a link that is good for once. */
export const signIn = (credential: { apiKey: string } | { link: string }): Promise<Session> =>
  call<Session>('/api/session', { method: 'POST', body: credential })

export const signOut = (): Promise<unknown> => call('/api/session', { method: 'DELETE' })
