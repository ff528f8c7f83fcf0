import { Center, Loader } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { PropsWithChildren } from 'react'
import { useLocation } from 'wouter'
import { Fault, needsOrganization } from '../api/client.ts'
import { sessionQuery } from '../api/session.ts'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { ChooseOrganization } from './choose-organization.tsx'
import { useProjectHint } from './project.ts'
import { SignIn } from './sign-in.tsx'

/**
 * Shows the app to signed-in users. If the project is already known, the page doesn't wait for the session: both load
 * at once.
 */
export function SessionGate({ children }: PropsWithChildren) {
  const { data: session, error, refetch } = useQuery(sessionQuery)
  const hint = useProjectHint()
  const [path] = useLocation()
  if (session === null || path === '/sign-in') return <SignIn />
  if (error instanceof Fault && needsOrganization(error)) return <ChooseOrganization />
  if (session === undefined && error) {
    return (
      <Center h="100dvh" p="md">
        <FaultAlert error={error} onRetry={refetch} />
      </Center>
    )
  }
  if (session === undefined && hint === undefined) {
    return (
      <Center h="100dvh">
        <Loader aria-label="Loading" />
      </Center>
    )
  }
  return children
}
