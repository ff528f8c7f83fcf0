import { Alert, Button, Code, Group, List, Stack, Text } from '@mantine/core'
import { Fault } from '../api/client.ts'
import { IconAlertTriangle, IconRefresh } from '../icons/index.ts'
import classes from './fault-alert.module.css'

interface FaultAlertProps {
  error: Error
  title?: string
  /** Runs the failed action again. */
  onRetry?: () => unknown
}

/** Shows an error in the service's own words, with the request ID for support. */
export function FaultAlert({ error, title = 'Something went wrong', onRetry }: FaultAlertProps) {
  const { details, requestId } = error instanceof Fault ? error : { details: [], requestId: '' }
  return (
    <Alert
      color="red"
      variant="light"
      title={title}
      icon={<IconAlertTriangle aria-hidden />}
      role="alert"
      classNames={{ root: classes.root, title: classes.title, icon: classes.title }}
    >
      <Stack gap="xs">
        <Text size="sm">{error.message}</Text>
        {details.length > 0 && (
          <List size="sm">
            {details.map(({ path, message }) => (
              <List.Item key={`${path} ${message}`}>
                {path !== '' && <Code>{path}</Code>} {message}
              </List.Item>
            ))}
          </List>
        )}
        {(requestId !== '' || onRetry) && (
          <Group justify="space-between">
            {requestId !== '' && <RequestId id={requestId} />}
            {onRetry && (
              <Button
                size="xs"
                variant="default"
                leftSection={<IconRefresh size={14} aria-hidden />}
                onClick={() => onRetry()}
              >
                Try again
              </Button>
            )}
          </Group>
        )}
      </Stack>
    </Alert>
  )
}

export const RequestId = ({ id }: { id: string }) => (
  <Text size="xs">
    Request <Code>{id}</Code>
  </Text>
)
