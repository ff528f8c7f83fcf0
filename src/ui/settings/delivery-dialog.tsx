import { Button, Group, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { Delivery, Webhook } from '../api/wire.ts'
import { IconRefresh } from '../icons/index.ts'
import { ScrollBox } from '../json/scroll-box.tsx'
import { ShownText } from '../json/shown-text.tsx'
import { CopyIcon } from '../parts/copied-code.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { count, counted } from '../parts/format.ts'
import { LateModal } from '../parts/late-modal.tsx'
import { Moment } from '../parts/moment.tsx'
import { useSubmission } from '../parts/use-submission.ts'
import classes from './delivery-dialog.module.css'
import { DeliveryStateMark } from './webhook-state-mark.tsx'
import { refreshWebhook, replayDelivery } from './writes.ts'

interface DeliveryDialogProps {
  webhook: Webhook
  /** The delivery to show. Undefined if the dialog is closed. */
  delivery: Delivery | undefined
  /** Called with the updated delivery after a replay. */
  onChange: (delivery: Delivery) => void
  onClose: () => void
}

/** A delivery's request and response, with a button that sends it again. */
export function DeliveryDialog({ webhook, delivery, onChange, onClose }: DeliveryDialogProps) {
  // The dialog keeps its content while it fades out.
  const [shown, setShown] = useState(delivery)
  if (delivery && delivery !== shown) setShown(delivery)
  return (
    <LateModal
      opened={delivery !== undefined}
      onClose={onClose}
      title={shown?.type}
      size="lg"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {shown && <DeliveryDetails key={shown.id} webhook={webhook} delivery={shown} onChange={onChange} />}
    </LateModal>
  )
}

function DeliveryDetails({
  webhook,
  delivery,
  onChange,
}: Pick<DeliveryDialogProps, 'webhook' | 'onChange'> & { delivery: Delivery }) {
  const { id, state, at, attempts, nextAttemptAt, request, attempt } = delivery
  const { submit, isPending, error } = useSubmission({
    send: () => replayDelivery(webhook.id, id),
    onDone: replayed => {
      onChange(replayed)
      return refreshWebhook(webhook.id)
    },
  })
  return (
    <Stack gap="sm" fz="sm">
      <Group justify="space-between" align="start" gap="xs">
        <div role="status">
          <DeliveryStateMark state={state} />
          <Text size="xs" c="dimmed">
            {counted(attempts, 'attempt')}
            {nextAttemptAt !== null && (
              <>
                {' '}
                so far. The next one is due on <Moment at={nextAttemptAt} precision="exact" /> or later.
              </>
            )}
          </Text>
        </div>
        <Button
          size="xs"
          variant="default"
          leftSection={<IconRefresh size={14} aria-hidden />}
          loading={isPending}
          disabled={!webhook.enabled}
          onClick={() => submit(undefined)}
        >
          {state === 'pending' ? 'Send now' : 'Send again'}
        </Button>
      </Group>
      {error && <FaultAlert error={error} />}
      <Text size="sm">
        Event <code>{id}</code>, <Moment at={at} precision="exact" />
      </Text>
      <CodeSection label="Request" text={JSON.stringify(request.body, undefined, 2)} />
      {attempt === null ? (
        <Text size="sm" c="dimmed">
          No attempts have finished yet.
        </Text>
      ) : (
        <>
          <Text size="sm">
            {attempt.status === null ? 'No response' : `Returned ${attempt.status}`},{' '}
            <Moment at={attempt.at} precision="exact" />
            {attempt.durationMs !== null && `, after ${count(attempt.durationMs)} ms`}
          </Text>
          {attempt.error !== null && (
            <Text size="sm" c="var(--negative)" dir="auto">
              <ShownText text={attempt.error} />
            </Text>
          )}
          {attempt.answer !== null && attempt.answer !== '' && <CodeSection label="Response" text={attempt.answer} />}
        </>
      )}
    </Stack>
  )
}

const CodeSection = ({ label, text }: { label: string; text: string }) => (
  <div>
    <Group justify="space-between">
      <Text size="sm" fw={600}>
        {label}
      </Text>
      <CopyIcon text={text} label={`Copy ${label.toLowerCase()}`} />
    </Group>
    <div className={classes.box}>
      <ScrollBox label={label} maxHeight="16rem">
        <pre className={classes.code} dir="auto">
          <ShownText text={text} />
        </pre>
      </ScrollBox>
    </div>
  </div>
)
