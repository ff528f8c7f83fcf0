import { Button } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import type { Webhook } from '../api/wire.ts'
import { IconSend } from '../icons/index.ts'
import { useSubmission } from '../parts/use-submission.ts'
import { hostOf } from './webhook-host.ts'
import { refreshWebhook, testWebhook } from './writes.ts'

/** Sends a test event to a webhook. */
export function TestButton({ webhook }: { webhook: Webhook }) {
  const { submit, isPending } = useSubmission({
    send: () => testWebhook(webhook.id),
    onDone: async () => {
      await refreshWebhook(webhook.id)
      notifications.show({ message: 'Test event queued. The list shows whether it arrives.' })
    },
    onFault: ({ message }) =>
      notifications.show({ color: 'red', title: `Couldn't send a test event to ${hostOf(webhook)}`, message }),
  })
  return (
    <Button
      size="xs"
      leftSection={<IconSend size={14} aria-hidden />}
      loading={isPending}
      disabled={!webhook.enabled}
      onClick={() => submit(undefined)}
    >
      Send test event
    </Button>
  )
}
