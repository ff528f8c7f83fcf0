import { Alert, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { sessionQuery } from '../api/session.ts'
import { IconLock } from '../icons/index.ts'

/** The one project that whoever is signed in is let into; null: all; undefined: not known yet. */
export function useOnlyProject() {
  const { data: session } = useQuery(sessionQuery)
  return session?.project
}

/** Says what a key of one project may not do, where that is so. */
export function OneProjectOnly({ children }: { children: string }) {
  const project = useOnlyProject()
  if (!project) return null
  return (
    <Alert variant="default" icon={<IconLock size={18} aria-hidden />} py="xs">
      <Text size="sm">
        You are signed in with a key for the project {project.name} alone. {children}
      </Text>
    </Alert>
  )
}
