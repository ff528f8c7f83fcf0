import { Button, Group, Stack, Text } from '@mantine/core'
import type { WebhookWithSecret } from '../api/wire.ts'
import { CopiedCode } from '../parts/copied-code.tsx'
import { Moment } from '../parts/moment.tsx'
import { Warning } from '../parts/warning.tsx'

/** A webhook's new signing secret, which is shown only once. */
export const WebhookSecret = ({ webhook, onDone }: { webhook: WebhookWithSecret; onDone: () => void }) => (
  <Stack gap="sm">
    <Warning title="Copy this secret now">
      You won't be able to see it again. The receiver needs it to check that events come from here.
    </Warning>
    <CopiedCode text={webhook.secret} label="Copy secret" />
    {webhook.previousSecretUntil !== null && (
      <Text size="sm">
        Until <Moment at={webhook.previousSecretUntil} />, deliveries are also signed with the previous secret.
      </Text>
    )}
    {webhook.format === 'slack' && <Text size="sm">Slack doesn't check it, so you can ignore it.</Text>}
    <Group justify="flex-end">
      <Button onClick={onDone}>I've copied it</Button>
    </Group>
  </Stack>
)
