import { Switch } from '@mantine/core'
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
  const { submit, isPending, error, variables } = useSubmission({
    send: (isEnabled: boolean) => {
      const { name, category, rule, isBuiltIn } = errorType
      return putErrorType(projectId ?? '', errorType.errorType, {
        ...(!isBuiltIn && { name, category, rule }),
        isEnabled,
      })
    },
    onDone: refreshErrorTypes,
  })
  return (
    <Switch
      aria-label={`${errorType.name}: in use`}
      size="sm"
      checked={isPending ? variables : errorType.isEnabled}
      disabled={projectId === undefined}
      onChange={({ currentTarget }) => submit(currentTarget.checked)}
      error={fieldFaults(error, ['isEnabled']).of('isEnabled') ?? error?.message}
    />
  )
}
