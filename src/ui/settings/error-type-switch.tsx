import { Switch, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { fieldFaults } from '../parts/field-faults.ts'
import { useSubmission } from '../parts/use-submission.ts'
import { type ErrorType, putErrorType, refreshErrorTypes } from './writes.ts'

interface ErrorTypeSwitchProps {
  errorType: ErrorType
  /** Undefined: it can only be read. */
  projectId: string | undefined
}

/** Switches an error type on or off in a project. */
export function ErrorTypeSwitch({ errorType, projectId }: ErrorTypeSwitchProps) {
  const { submit, isPending, variables } = useSubmission({
    send: (isEnabled: boolean) => {
      const { name, category, rule, isBuiltIn } = errorType
      return putErrorType(projectId ?? '', errorType.errorType, {
        ...(!isBuiltIn && { name, category, rule }),
        isEnabled,
      })
    },
    onDone: refreshErrorTypes,
    onFault: error => {
      const message = fieldFaults(error, ['isEnabled']).of('isEnabled') ?? error.message
      notifications.show({ color: 'red', title: `${errorType.name} stays as it is`, message })
    },
  })
  // A switch that cannot be moved does not show well how it stands.
  if (projectId === undefined) return <Text size="sm">{errorType.isEnabled ? 'Yes' : 'No'}</Text>
  return (
    <Switch
      aria-label={`${errorType.name}: in use`}
      size="sm"
      checked={isPending ? variables : errorType.isEnabled}
      onChange={({ currentTarget }) => submit(currentTarget.checked)}
    />
  )
}
