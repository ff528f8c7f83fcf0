import { Switch, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { fieldFaults } from '../parts/field-faults.ts'
import { useSubmission } from '../parts/use-submission.ts'
import { type ErrorType, putErrorType, refreshErrorTypes } from './writes.ts'

interface ErrorTypeSwitchProps {
  errorType: ErrorType
  /** Undefined if the error type is read-only. */
  projectId: string | undefined
}

/** Turns an error type on or off in a project. */
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
      notifications.show({ color: 'red', title: `Couldn't change ${errorType.name}`, message })
    },
  })
  // A disabled switch doesn't show its state clearly.
  if (projectId === undefined) return <Text size="sm">{errorType.isEnabled ? 'Yes' : 'No'}</Text>
  return (
    <Switch
      aria-label={`Enable ${errorType.name}`}
      size="sm"
      checked={isPending ? variables : errorType.isEnabled}
      onChange={({ currentTarget }) => submit(currentTarget.checked)}
    />
  )
}
