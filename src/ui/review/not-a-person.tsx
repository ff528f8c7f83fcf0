import { Alert, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { sessionQuery } from '../api/session.ts'
import { IconLock } from '../icons/index.ts'

const EXPLANATIONS = {
  agent: "You're signed in with an agent's key. Your decisions are only suggestions, and the items stay in the queue.",
  pipeline: "You're signed in with a pipeline's key, so you can't decide on items.",
}

/** Explains what happens to decisions if the session's key doesn't act as a person. */
export function NotAPerson() {
  const { data: session } = useQuery(sessionQuery)
  if (!session || session.actsAs === 'person') return null
  return (
    <Alert variant="default" icon={<IconLock size={18} aria-hidden />} py="xs">
      <Text size="sm">{EXPLANATIONS[session.actsAs]}</Text>
    </Alert>
  )
}
