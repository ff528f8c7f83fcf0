import { Alert, Code } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { PropsWithChildren } from 'react'
import { sessionQuery } from '../api/session.ts'
import type { Session } from '../api/wire.ts'
import { IconLock } from '../icons/index.ts'

export type Scope = Session['scopes'][number]

/** Whether the session has a scope; undefined while loading. */
export function useMay(scope: Scope): boolean | undefined {
  const { data: session } = useQuery(sessionQuery)
  return session?.scopes.includes(scope)
}

/**
 * Why the user can't do something that requires a scope, such as `move items`. Null if they can; undefined while
 * loading.
 */
export function useRefusal(scope: Scope, act: string): string | null | undefined {
  const { data: session } = useQuery(sessionQuery)
  if (!session) return undefined
  if (!session.scopes.includes(scope)) return `You need the “${scope}” scope to ${act}.`
  return session.actsAs === 'person' ? null : `Only people can ${act}. Your key acts as ${ACTORS[session.actsAs]}.`
}

const ACTORS = { agent: 'an agent', pipeline: 'a pipeline' } as const

/** Whether the session's key acts as a person; undefined while loading. */
export function useIsPerson(): boolean | undefined {
  const { data: session } = useQuery(sessionQuery)
  return session ? session.actsAs === 'person' : undefined
}

/** Names the scope that the user is missing. */
export const MissingScope = ({ scope, children }: PropsWithChildren<{ scope: Scope }>) => (
  <Alert variant="default" icon={<IconLock size={18} aria-hidden />} title={children}>
    Your key doesn't have the <Code>{scope}</Code> scope. Sign in with a key that does, or ask a manager of your
    organization for one.
  </Alert>
)
