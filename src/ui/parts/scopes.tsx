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

/** Names the scope that the user is missing. */
export const MissingScope = ({ scope, children }: PropsWithChildren<{ scope: Scope }>) => (
  <Alert variant="default" icon={<IconLock size={18} aria-hidden />} title={children}>
    Your key doesn't have the <Code>{scope}</Code> scope. Sign in with a key that does, or ask a manager of your
    organization for one.
  </Alert>
)
