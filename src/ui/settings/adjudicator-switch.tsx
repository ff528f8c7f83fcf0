import { Switch } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import type { Users } from '../api/wire.ts'
import { useSubmission } from '../parts/use-submission.ts'
import { refreshPeople, updateUser } from './writes.ts'

interface AdjudicatorSwitchProps {
  user: Users['users'][number]
  mayChange: boolean
}

/** Appoints or removes an adjudicator. */
export function AdjudicatorSwitch({ user, mayChange }: AdjudicatorSwitchProps) {
  const name = user.name || user.email
  const { submit, isPending, variables } = useSubmission({
    send: (adjudicator: boolean) => updateUser(user.id, { adjudicator }),
    onDone: refreshPeople,
    onFault: ({ message }) => notifications.show({ color: 'red', title: `Couldn't change ${name}`, message }),
  })
  // A disabled switch doesn't show its state clearly.
  if (!mayChange) return user.adjudicator ? 'Yes' : 'No'
  return (
    <Switch
      aria-label={`${name} is an adjudicator`}
      size="sm"
      checked={isPending ? variables : user.adjudicator}
      onChange={({ currentTarget }) => submit(currentTarget.checked)}
    />
  )
}
