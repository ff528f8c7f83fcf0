import { Alert, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { sessionQuery } from '../api/session.ts'
import { IconLock } from '../icons/index.ts'

/** The session's only project; null if the session has all projects, undefined while loading. */
export function useOnlyProject() {
  const { data: session } = useQuery(sessionQuery)
  return session?.project
}

/** Explains what the session can't do, if its key is for a single project. */
export function OneProjectOnly({ children }: { children: string }) {
  const project = useOnlyProject()
  if (!project) return null
  return (
    <Alert variant="default" icon={<IconLock size={18} aria-hidden />} py="xs">
      <Text size="sm">
        You're signed in with a key for one project, {project.name}. {children}
      </Text>
    </Alert>
  )
}
