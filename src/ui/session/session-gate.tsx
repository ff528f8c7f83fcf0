import { Center } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { lazy, type PropsWithChildren, Suspense } from 'react'
import { useLocation } from 'wouter'
import { Fault, needsOrganization } from '../api/client.ts'
import { sessionQuery } from '../api/session.ts'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { Frame } from '../shell/frame.tsx'
import { useProjectHint } from './project.ts'

const SignIn = lazy(async () => ({ default: (await import('./sign-in.tsx')).SignIn }))
const ChooseOrganization = lazy(async () => ({
  default: (await import('./choose-organization.tsx')).ChooseOrganization,
}))

/**
 * Shows the app to signed-in users. If the project is already known, the page doesn't wait for the session: both load
 * at once.
 */
export function SessionGate({ children }: PropsWithChildren) {
  const { data: session, error, refetch } = useQuery(sessionQuery)
  const hint = useProjectHint()
  const [path] = useLocation()
  if (session === null || path === '/sign-in') {
    return (
      <Suspense>
        <SignIn />
      </Suspense>
    )
  }
  if (error instanceof Fault && needsOrganization(error)) {
    return (
      <Suspense>
        <ChooseOrganization />
      </Suspense>
    )
  }
  if (session === undefined && error) {
    return (
      <Center h="100dvh" p="md">
        <FaultAlert error={error} onRetry={refetch} />
      </Center>
    )
  }
  if (session === undefined && hint === undefined) return <Frame />
  return children
}
