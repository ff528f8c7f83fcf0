import { Alert, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { sessionQuery } from '../api/session.ts'
import { IconLock } from '../icons/index.ts'

/** The session's only project; null if it has them all, undefined while loading. */
export function useOnlyProject() {
  const { data: session } = useQuery(sessionQuery)
  return session?.project
}

/** Says what a key for a single project can't do, if this is one. */
export function OneProjectOnly({ children }: { children: string }) {
  const project = useOnlyProject()
  if (!project) return null
  return (
    <Alert variant="default" icon={<IconLock size={18} aria-hidden />} py="xs">
      <Text size="sm">
        You're signed in with a key for the project {project.name} only. {children}
      </Text>
    </Alert>
  )
}
