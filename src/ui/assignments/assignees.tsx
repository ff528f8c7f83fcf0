import { Text } from '@mantine/core'
import { useNames } from '../api/names.ts'
import type { Span } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { Moment } from '../parts/moment.tsx'

interface AssigneesProps {
  assignees: Span['assignees']
  /** The signed-in user or key. */
  actorId: string | undefined
}

/** Who should review a span, and by when. Renders nothing if the span isn't assigned. */
export function Assignees({ assignees, actorId }: AssigneesProps) {
  const names = useNames(assignees.map(({ userId }) => (userId === actorId ? null : userId)))
  return assignees.map(({ userId, dueAt }) => {
    const isLate = dueAt !== null && Date.parse(dueAt) < Date.now()
    return (
      <Text key={userId} span inherit c={isLate ? 'var(--negative)' : 'inherit'}>
        Assigned to {userId === actorId ? 'you' : <ShownText text={names.get(userId) ?? '…'} />}
        {dueAt !== null && (
          <>
            , {isLate ? 'overdue since' : 'due'} <Moment at={dueAt} precision="brief" />
          </>
        )}
      </Text>
    )
  })
}
