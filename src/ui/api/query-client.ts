import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { Fault, needsOrganization } from './client.ts'
import { isOfSomebody, SESSION_KEY } from './session.ts'
import type { Session } from './wire.ts'

const ATTEMPTS = 3

/** The session ended, or was ended: the app shows how to sign in. To be told of the faults of calls that are no query's. */
export function onFault(error: Error): void {
  if (!(error instanceof Fault) || error.status !== 401) return
  // Who is a user of another organization since is asked which one is meant.
  if (needsOrganization(error)) queryClient.invalidateQueries({ queryKey: SESSION_KEY, refetchType: 'none' })
  else queryClient.setQueryData(SESSION_KEY, null)
}

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: onFault }),
  mutationCache: new MutationCache({ onError: onFault }),
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // A refusal stays one however often it is asked for.
      retry: (failures, error) => !(error instanceof Fault && isRefusal(error)) && failures < ATTEMPTS - 1,
      refetchOnWindowFocus: false,
    },
  },
})

const isRefusal = ({ status }: Fault): boolean => status >= 400 && status < 500

/**
 * Shows the app to somebody else, or to nobody (null), with nothing left of what was answered before. The session's own query
 * stays, for who shows it would not hear of another one.
 */
export function changeSession(session: Session | null): void {
  queryClient.setQueryData(SESSION_KEY, session)
  queryClient.removeQueries({ predicate: isOfSomebody })
}
