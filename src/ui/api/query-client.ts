import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { Fault, needsOrganization } from './client.ts'
import { dependsOnSession, SESSION_KEY } from './session.ts'
import type { Session } from './wire.ts'

const ATTEMPTS = 3

/** Shows the sign-in page if the session has ended. Calls outside of queries must report their errors here. */
export function onFault(error: Error): void {
  if (!(error instanceof Fault) || error.status !== 401) return
  // The session's own request is still in progress. It may find that only the chosen organization was rejected.
  if (queryClient.isFetching({ queryKey: SESSION_KEY }) > 0) return
  // The session's request found that the chosen organization was rejected. This request was for the same organization.
  const { error: sessionError } = queryClient.getQueryState(SESSION_KEY) ?? {}
  if (sessionError instanceof Fault && needsOrganization(sessionError)) return
  // The user may have joined a second organization and now has to choose one.
  if (needsOrganization(error)) queryClient.invalidateQueries({ queryKey: SESSION_KEY, refetchType: 'none' })
  else queryClient.setQueryData(SESSION_KEY, null)
}

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: onFault }),
  mutationCache: new MutationCache({ onError: onFault }),
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // Retrying a rejected call doesn't help.
      retry: (failures, error) => !(error instanceof Fault && isRejection(error)) && failures < ATTEMPTS - 1,
      refetchOnWindowFocus: false,
    },
  },
})

const isRejection = ({ status }: Fault): boolean => status >= 400 && status < 500

/**
 * Switches to another session, or to none (null), and drops all cached responses. The session's own query stays,
 * because its observers wouldn't notice if another query replaced it.
 */
export function changeSession(session: Session | null): void {
  queryClient.setQueryData(SESSION_KEY, session)
  queryClient.removeQueries({ predicate: dependsOnSession })
}
