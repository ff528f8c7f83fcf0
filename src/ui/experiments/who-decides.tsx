import { Alert, Code, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { sessionQuery } from '../api/session.ts'
import { IconLock } from '../icons/index.ts'
import { useIsPerson, useMay } from '../parts/scopes.tsx'

/** Whether the session may decide on items; undefined while loading. */
export function useDecides(): boolean | undefined {
  const isPerson = useIsPerson()
  const mayReview = useMay('review')
  return isPerson && mayReview
}

/** Explains why the user can't decide on items. */
export function WhoDecides() {
  const { data: session } = useQuery(sessionQuery)
  const decides = useDecides()
  if (!session || decides !== false) return null
  return (
    <Alert variant="default" icon={<IconLock size={18} aria-hidden />} py="xs">
      <Text size="sm">
        {session.actsAs === 'person' ? (
          <>
            You can't decide on items: your key doesn't have the <Code>review</Code> scope.
          </>
        ) : (
          `Only people can decide on items, and you're signed in with ${session.actsAs === 'agent' ? "an agent's" : "a pipeline's"} key.`
        )}
      </Text>
    </Alert>
  )
}
