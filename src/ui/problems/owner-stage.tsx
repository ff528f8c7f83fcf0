import { Button, Group, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useNames } from '../api/names.ts'
import { sessionQuery } from '../api/session.ts'
import type { Problem } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { LateSelect } from '../parts/late-select.tsx'
import { useMay } from '../parts/scopes.tsx'
import { useSubmission } from '../parts/use-submission.ts'
import { useAllUsers } from '../settings/use-all.ts'
import { Stage } from './stage.tsx'
import { changeProblem, offerUndo } from './writes.tsx'

/** Who works on the fix. */
export function OwnerStage({ problem: { id, assignee, state } }: { problem: Problem }) {
  const { data: session } = useQuery(sessionQuery)
  const mayReview = useMay('review')
  const mayManage = useMay('manage')
  const [isChoosing, setChoosing] = useState(false)
  const names = useNames([assignee])
  const { submit, isPending } = useSubmission({
    send: (assigneeId: string | null) => changeProblem(id, { assigneeId }),
    onDone: (_, assigneeId) => {
      setChoosing(false)
      const message = assigneeId === null ? 'The problem is no longer assigned.' : 'Assigned.'
      offerUndo(message, () => changeProblem(id, { assigneeId: assignee }))
    },
    onFault: ({ message }) => notifications.show({ color: 'red', title: "Couldn't assign the problem", message }),
  })
  const me = session?.user
  return (
    <Stage title="Owner" standing={assignee !== null || state === 'verified' ? 'done' : 'later'}>
      <Text size="sm">
        {assignee === null ? 'Nobody is assigned.' : <ShownText text={names.get(assignee) ?? '…'} />}
      </Text>
      {mayReview && !isChoosing && (
        <Group gap={6}>
          {me && me.id !== assignee && (
            <Button size="compact-xs" variant="default" loading={isPending} onClick={() => submit(me.id)}>
              Assign to me
            </Button>
          )}
          {mayManage && (
            <Button size="compact-xs" variant="default" onClick={() => setChoosing(true)}>
              Assign to…
            </Button>
          )}
          {assignee !== null && (
            <Button size="compact-xs" variant="subtle" loading={isPending} onClick={() => submit(null)}>
              Unassign
            </Button>
          )}
        </Group>
      )}
      {isChoosing && <ChooseUser onChoose={submit} onCancel={() => setChoosing(false)} />}
    </Stage>
  )
}

interface ChooseUserProps {
  onChoose: (id: string) => void
  onCancel: () => void
}

/** Lists the people to choose from. */
function ChooseUser({ onChoose, onCancel }: ChooseUserProps) {
  const users = useAllUsers()
  return (
    <Group gap={6} align="end">
      <LateSelect
        label="Assign to"
        size="xs"
        flex={1}
        searchable
        selectFirstOptionOnChange
        placeholder="Choose a person"
        nothingFoundMessage="No one by that name"
        data={users.map(({ id, name, email }) => ({ value: id, label: name || email }))}
        value={null}
        onChange={id => id !== null && onChoose(id)}
      />
      <Button size="xs" variant="default" onClick={onCancel}>
        Cancel
      </Button>
    </Group>
  )
}
