import { Alert, Code } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { PropsWithChildren } from 'react'
import { sessionQuery } from '../api/session.ts'
import type { Session } from '../api/wire.ts'
import { IconLock } from '../icons/index.ts'

export type Scope = Session['scopes'][number]

/** Whether whoever is signed in has a scope; undefined until that is known. */
export function useMay(scope: Scope): boolean | undefined {
  const { data: session } = useQuery(sessionQuery)
  return session?.scopes.includes(scope)
}

/** Says which scope something needs that whoever is signed in does not have. */
export const MissingScope = ({ scope, children }: PropsWithChildren<{ scope: Scope }>) => (
  <Alert variant="default" icon={<IconLock size={18} aria-hidden />} title={children}>
    That needs the scope <Code>{scope}</Code>, which the key that you signed in with does not have. Sign in with a key
    that does, or ask whoever manages your organization for one.
  </Alert>
)
